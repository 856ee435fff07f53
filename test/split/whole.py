"""A split graph runs as the whole: every golden row, the executor's rows and models, bit for bit."""
# needs: wheels
import os
import re
import resource
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
from _cli import SOURCE, TENON, read_npy, tenon  # noqa: E402

GOLDEN = os.path.join(SOURCE, "test/golden/split")
OPTIONS = [["--min-static-ops", "0", "--treat-symbolic-as", "dynamic"],
           ["--min-static-ops", "0", "--mode", "order"]]
failed = 0


def check(ok, label):
    global failed
    failed += not ok
    if not ok:
        print("FAIL", label)


def run(path, inputs, folder):
    """Outputs by file name, or the message of the error without the model's name."""
    for name in os.listdir(folder):
        os.remove(os.path.join(folder, name))
    args = [TENON, "run", path, "--output", folder] + [a for i in inputs for a in ("--input", i)]
    done = subprocess.run(args, capture_output=True, text=True, timeout=300)
    if done.returncode:
        return "%d %s" % (done.returncode, done.stderr.strip().rpartition("error: ")[2])
    return {n: read_npy(os.path.join(folder, n)) for n in sorted(os.listdir(folder))}


def both(path, inputs, options, label, folder, must_cut=False):
    """Runs the whole and the split graph; returns what the whole gave."""
    text, _ = tenon("split", path, "--graph", *options)
    split = os.path.join(folder, "split.tn")
    with open(split, "w") as f:
        f.write(text)
    out = os.path.join(folder, "out")
    os.makedirs(out, exist_ok=True)
    whole, parts = run(path, inputs, out), run(split, inputs, out)
    check(whole == parts, "%s: the parts give %.300s, the whole %.300s" % (label, parts, whole))
    check(not must_cut or " = call(" in text, "%s: nothing was cut" % label)
    return whole


def golden_inputs(text):
    """By the parameters of the graph."""
    params = re.search(r"graph @\S*(?: [^(]*)?\((.*?)\) ->", text).group(1)
    for name, dtype, dims in re.findall(r"%(\w+): (\w+)\[([^\]]*)\]", params):
        if dtype == "bool":
            yield name + "=true"
        elif dtype[0] == "i":
            yield name + ("=3" if dtype == "i64" else "=0")
        else:
            shape = "x".join("2" if d == "*" else "5" if d == "N" else d for d in dims.split(","))
            yield "%s=random%s" % (name, ":" + shape if shape else "")


def golden_rows(folder):
    n = 0
    for name in sorted(os.listdir(GOLDEN)):
        if not name.endswith(".tn"):
            continue
        with open(os.path.join(GOLDEN, name)) as f:
            text = f.read()
        if "\n# error" in text or not text.startswith("# run: split "):
            continue
        head, model = text.split("\n", 1)
        model = model.split("\n# expect")[0]
        options = [o.replace("{dir}", GOLDEN) for o in head.split()[3:] if o not in ("--nodes", "--json", "--graph")]
        path = os.path.join(folder, name)
        with open(path, "w") as f:
            f.write(model)
        whole = both(path, list(golden_inputs(model)), options, name, folder)
        check(isinstance(whole, dict), "%s: %s" % (name, whole))
        n += 1
    check(n > 70, "only %d golden rows" % n)
    return n


def graph(params, results, body):
    return "tenon 1\n\ngraph @main(%s) -> (%s) {\n%s}\n" % (params, results, body)


ROW_94 = graph("%x: f32[N,3]", "%s: f32[N], %b: f32[N,3]", """
  %a = relu(%x) : f32[N,3] at "a"
  %b = add(%a, %a) : f32[N,3] at "d"
  %axes = const() {value = dense(i64[1]: 1)} : i64[1]
  %s = reduce_sum(%b, %axes) {keepdims = 0, noop_with_empty_axes = 0} : f32[N] at "s"
""")
ROW_95 = graph("%c: bool[K], %x: f32[2]", "%y: f32[2]", """
  %a = relu(%x) : f32[2] at "d"
  %y = if(%c) region () {
    %t = neg(%a) : f32[2]
    yield (%t)
  } region () {
    yield (%a)
  } : f32[2] at "if" "If"
""")
# ONNX has no Case: a chain of If, whose last branch takes every index that is no other's.
ROW_96 = graph("%i: i64[], %x: f32[2]", "%y: f32[2]", """
  %zero = const() {value = dense(i64[]: 0)} : i64[]
  %one = const() {value = dense(i64[]: 1)} : i64[]
  %is0 = equal(%i, %zero) : bool[] at "is0"
  %is1 = equal(%i, %one) : bool[] at "is1"
  %y = if(%is0) region () {
    %a = add(%x, %x) : f32[2] at "branch0"
    yield (%a)
  } region () {
    %z = if(%is1) region () {
      %b = neg(%x) : f32[2] at "branch1"
      yield (%b)
    } region () {
      %c = mul(%x, %x) : f32[2] at "last"
      %d = neg(%c) : f32[2] at "d"
      yield (%d)
    } : f32[2] at "inner"
    yield (%z)
  } : f32[2] at "outer"
""")
ROW_97 = graph("%n: i64[], %x: f32[2]", "%y: f32[2], %g: f32[G], %h: f32[n,2]", """
  %yes = const() {value = dense(bool[]: 1)} : bool[]
  %y, %g, %h = loop(%n, %yes, %x, %x) region (%i: i64[], %k: bool[], %s: f32[2], %grow: f32[L]) {
    %t = add(%s, %s) : f32[2] at "d"
    %half = const() {value = dense(f32[]: 0.5)} : f32[]
    %u = mul(%t, %half) : f32[2] at "half"
    %zero = const() {value = dense(i64[1]: 0)} : i64[1]
    %four = const() {value = dense(i64[1]: 4)} : i64[1]
    %more = concat(%grow, %x) {axis = 0} : f32[M] at "more"
    %cut = slice(%more, %zero, %four) : f32[C] at "cut"
    yield (%k, %u, %cut, %u)
  } : f32[2], f32[G], f32[n,2] at "loop"
""")
ROW_98 = graph("%c: bool[], %a: f32[2], %b: f32[2]", "%y: f32[2], %z: f32[2]", """
  %d1 = neg(%a) : f32[2] at "d1"
  %p, %q = if(%c) region () {
    yield (%d1, %b)
  } region () {
    yield (%b, %d1)
  } : f32[2], f32[2] at "swap"
  %y = add(%p, %p) : f32[2] at "y"
  %z = add(%q, %y) : f32[2] at "z"
""")
ROW_99 = graph("%c: bool[], %x: f32[4]", "%y: f32[4]", """
  %r = if(%c) region () {
    %t = neg(%x) : f32[4] at "t"
    %u = mul(%t, %t) : f32[4] at "u"
    yield (%u)
  } region () {
    %e = add(%x, %x) : f32[4] at "e"
    yield (%e)
  } : f32[4] at "d"
  %a = add(%x, %x) : f32[4] at "a"
  %b = mul(%a, %a) : f32[4] at "b"
  %y = sub(%r, %b) : f32[4] at "y"
""")

EXECUTOR = [  # label, model, inputs, outputs: file -> (shape, floats) or the error
    ("94", ROW_94, ["x=zeros:0x3"], {"s": ((0,), []), "b": ((0, 3), [])}),
    ("94", ROW_94, ["x=[[1,2,3],[-1,0,4]]"], {"s": ((2,), [12, 8]), "b": ((2, 3), [2, 4, 6, 0, 0, 8])}),
    ("95", ROW_95, ["c=zeros:0", "x=[1,2]"], "node 'if' (If): the condition has 0 elements, expected 1"),
    ("95", ROW_95, ["c=zeros:1", "x=[1,2]"], {"y": ((2,), [1, 2])}),
    ("95", ROW_95, ["c=[true]", "x=[1,2]"], {"y": ((2,), [-1, -2])}),
    ("96", ROW_96, ["i=0", "x=[1,2]"], {"y": ((2,), [2, 4])}),
    ("96", ROW_96, ["i=1", "x=[1,2]"], {"y": ((2,), [-1, -2])}),
    ("96", ROW_96, ["i=2", "x=[1,2]"], {"y": ((2,), [-1, -4])}),
    ("96", ROW_96, ["i=-1", "x=[1,2]"], {"y": ((2,), [-1, -4])}),
    ("97", ROW_97, ["n=0", "x=[1,2]"], {"y": ((2,), [1, 2]), "g": ((2,), [1, 2]), "h": ((0, 2), [])}),
    ("97", ROW_97, ["n=1", "x=[1,2]"], {"y": ((2,), [1, 2]), "g": ((4,), [1, 2, 1, 2]), "h": ((1, 2), [1, 2])}),
    ("97", ROW_97, ["n=10000", "x=[1,2]"],
     {"y": ((2,), [1, 2]), "g": ((4,), [1, 2, 1, 2]), "h": ((10000, 2), [1, 2] * 10000)}),
    ("98", ROW_98, ["c=true", "a=[1,2]", "b=[10,20]"], {"y": ((2,), [-2, -4]), "z": ((2,), [8, 16])}),
    ("98", ROW_98, ["c=false", "a=[1,2]", "b=[10,20]"], {"y": ((2,), [20, 40]), "z": ((2,), [19, 38])}),
    ("99", ROW_99, ["c=true", "x=[1,2,3,4]"], {"y": ((4,), [-3, -12, -27, -48])}),
    ("99", ROW_99, ["c=false", "x=[1,2,3,4]"], {"y": ((4,), [-2, -12, -30, -56])}),
]


def floats(data):
    import struct
    return list(struct.unpack("<%df" % (len(data) // 4), data))


def executor_rows(folder):
    path = os.path.join(folder, "row.tn")
    for row, text, inputs, want in EXECUTOR:
        with open(path, "w") as f:
            f.write(text)
        label = "row %s %s" % (row, " ".join(inputs))
        got = both(path, inputs, ["--min-static-ops", "0", "--force-dynamic", "d*"], label, folder, must_cut=row != "97")
        if isinstance(want, str):
            check(isinstance(got, str) and want in got, "%s: %s" % (label, got))
            continue
        check(isinstance(got, dict), "%s: %s" % (label, got))
        for name, (shape, numbers) in want.items() if isinstance(got, dict) else ():
            descr, dims, data = got[name + ".npy"]
            check(dims == shape and floats(data) == numbers, "%s: %s is %s %s" % (label, name, dims, floats(data)[:8]))


def loop_memory(folder):
    """Row 97: ten times the rounds take no more memory than their results."""
    path = os.path.join(folder, "row.tn")
    with open(path, "w") as f:
        f.write(ROW_97)
    peak = []
    for n in (10000, 200000):
        tenon("run", path, "--input", "n=%d" % n, "--input", "x=[1,2]")
        peak.append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
    check(peak[1] - peak[0] < 16000, "row 97: %d KiB, then %d KiB" % tuple(peak))  # the stacked result: 1.6 MB


def models(folder):
    wheels = os.environ["TENON_WHEELS"]
    have = {f: os.path.join(d, f) for d, _, files in os.walk(wheels) for f in files if f.endswith(".onnx")}
    rows = [(os.path.join(SOURCE, "examples/dynamic.onnx"), ["image=random:1x3x32x48", "tokens=random:1x7"])]
    rows += [(have[m], i) for m, i in {
        "ch_ppocr_mobile_v2.0_cls_infer.onnx": ["x=random:2x3x48x96"],
        "ch_PP-OCRv4_det_infer.onnx": ["x=random:1x3x64x96"],
        "silero_vad.onnx": ["input=random:1x512", "state=zeros:2x1x128", "sr=16000"],
        "silero_vad_half.onnx": ["input=random:1x576", "state=zeros:2x1x128"],
    }.items() if m in have]
    check(len(rows) >= 4, "models are missing: %s" % sorted(have))
    for path, inputs in rows:
        for options in OPTIONS:
            got = both(path, inputs, options, "%s %s" % (os.path.basename(path), " ".join(options)), folder)
            check(isinstance(got, dict), "%s: %s" % (path, got))
    return len(rows)


with tempfile.TemporaryDirectory() as where:
    n_rows = golden_rows(where)
    executor_rows(where)
    loop_memory(where)
    n_models = models(where)
print("%d golden rows, %d executor rows, %d models" % (n_rows, len(EXECUTOR), n_models))
sys.exit(1 if failed else 0)
