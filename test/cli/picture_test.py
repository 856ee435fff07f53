"""tenon split --dot, --svg, --html: what is drawn, and the page in a browser: it is not blank, reports no error, finds a
node that is typed into its search box and shows a part that is clicked."""
# needs: onnx program:dot program:chromium
import html
import os
import re
import subprocess
import tempfile
import xml.etree.ElementTree as xml
import zlib

import onnx
from onnx import TensorProto as T
from onnx import helper as h

from _cli import tenon

FOLDER = tempfile.mkdtemp()


def model():
    """Names that a page must quote, a size that only the run tells, a body."""
    body = [h.make_graph([h.make_node(op, ["r"], ["b" + op], name="in_" + op)], "g" + op, [],
                         [h.make_tensor_value_info("b" + op, T.FLOAT, None)]) for op in ("Neg", "Abs")]
    nodes = [h.make_node("Exp", ["x"], ["e"], name="</script><b>&\"'"), h.make_node("NonZero", ["e"], ["z"], name="find"),
             h.make_node("Cast", ["z"], ["r"], name="a/b", to=T.FLOAT),
             h.make_node("If", ["c"], ["y"], name="choose", then_branch=body[0], else_branch=body[1])]
    graph = h.make_graph(nodes, "net", [h.make_tensor_value_info("x", T.FLOAT, ["N", 4]), h.make_tensor_value_info("c", T.BOOL, [])],
                         [h.make_tensor_value_info("y", T.FLOAT, None)])
    path = os.path.join(FOLDER, "m.onnx")
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
    return path


def browse(page, *options):
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,700",
                           "--user-data-dir=" + os.path.join(FOLDER, "profile"), "--enable-logging=stderr",
                           "--virtual-time-budget=3000", *options, "file://" + page], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert not errors, errors
    return done.stdout


def shades(path):
    """How many different bytes the image data of a PNG has."""
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, pixels = 8, b""
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        if data[at + 4:at + 8] == b"IDAT":
            pixels += data[at + 8:at + 8 + size]
        at += 12 + size
    return len(set(zlib.decompress(pixels)))


PATH = model()
FILES = {kind: os.path.join(FOLDER, "p." + kind) for kind in ("dot", "svg", "html")}
tenon("split", PATH, "--min-static-ops", "0", *(word for kind, path in FILES.items() for word in ("--" + kind, path)))

with open(FILES["dot"]) as file:
    dot = file.read()
assert dot.count("subgraph cluster_") == 4 and "16*N B" in dot, dot

# a value that crosses into a part goes to the first of the nodes there that use it
used = h.make_graph([h.make_node("Exp", ["x"], ["e"]), h.make_node("NonZero", ["e"], ["z"]),
                     h.make_node("Transpose", ["z"], ["t"]), h.make_node("GatherND", ["e", "t"], ["y"])], "net",
                    [h.make_tensor_value_info("x", T.FLOAT, ["N", 4])], [h.make_tensor_value_info("y", T.FLOAT, None)])
onnx.save(h.make_model(used, opset_imports=[h.make_opsetid("", 17)], ir_version=8), os.path.join(FOLDER, "used.onnx"))
tenon("split", os.path.join(FOLDER, "used.onnx"), "--min-static-ops", "0", "--dot", FILES["dot"])
with open(FILES["dot"]) as file:
    used = file.read()
assert re.findall(r"node(\d+) -> node(\d+) \[label", used) == [("0", "1")], used
assert re.search(r'node1 .*label="NonZero"', used), used

tree = xml.parse(FILES["svg"])
ids = [e.get("id") for e in tree.iter("{http://www.w3.org/2000/svg}g")]
assert {"part0_0", "part0_1", "part1_0", "part2_0"} <= set(ids), ids

with open(FILES["html"]) as file:
    page = file.read()
assert page.count("</script>") == 2 and not re.search(r"(src|href)=[\"']?(https?:)?//", page)
shot = os.path.join(FOLDER, "p.png")
browse(FILES["html"], "--screenshot=" + shot)
assert shades(shot) > 16

# the same page, used: what is typed is found, what is clicked is shown
acts = """<script>
const box = document.getElementById('search');
box.value = '%s'; box.dispatchEvent(new Event('input'));
document.body.dataset.hits = document.getElementById('hits').textContent;
document.body.dataset.found = [...document.querySelectorAll('.found title')].map(e => e.textContent).join(' ');
document.body.dataset.shown = document.getElementById('detail').textContent;
box.value = ''; box.dispatchEvent(new Event('input'));
document.getElementById('part0_0').querySelector('text').dispatchEvent(new MouseEvent('click', {bubbles: true}));
</script></body>"""
for text, hits in (("FIN", "1 found"), ("</script>", "1 found"), ("in_neg", "1 found"), ("nowhere", "0 found")):
    used = os.path.join(FOLDER, "used.html")
    with open(used, "w") as file:
        file.write(page.replace("</body>", acts % text.replace("</", "<\\/")))
    dom = browse(used, "--dump-dom")
    body = html.unescape(re.search(r"<body[^>]*>", dom).group(0))
    assert f'data-hits="{hits}"' in body, (text, body)
    if hits == "1 found":
        assert re.search(r'data-found="node\d+', body), (text, body)
    if text == "FIN":
        assert "NonZero" in body and "known only when run" in body, body
    side = dom[dom.index('id="detail"'):]
    assert "main_part0" in side[:200] and "FLOPs" in side and "16*N B" in side, side[:600]

_, error = tenon("split", PATH, "--svg", "/nowhere/p.svg", status=1)
assert "/nowhere/p.svg" in error
