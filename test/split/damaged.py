"""Folders of parts that do not fit together: each is refused with a sentence, none runs as something else."""
# needs: numpy onnx
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

TENON = os.environ["TENON"]
failed = 0


def value(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 4])


weights = [numpy_helper.from_array(np.full((4, 4), 0.5, np.float32), "w")]
nodes = [helper.make_node("MatMul", ["x", "w"], ["a"], name="first"), helper.make_node("Relu", ["a"], ["b"], name="cut"),
         helper.make_node("MatMul", ["b", "w"], ["c"], name="second"), helper.make_node("Neg", ["c"], ["y"], name="last")]
graph = helper.make_graph(nodes, "../m", [value("x")], [value("y")], weights)
folder = tempfile.mkdtemp()
whole, good, bad = (os.path.join(folder, n) for n in ("m.onnx", "good", "bad"))
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), whole)
subprocess.run([TENON, "split", whole, "--min-static-ops", "0", "--force-dynamic", "cut", "-o", good], check=True,
               stdout=subprocess.DEVNULL)
with open(os.path.join(good, "manifest.json")) as f:
    manifest = json.load(f)
files = [p["file"] for p in manifest["parts"]]
assert len(files) == 3 and not any("/" in f for f in files), files


def run(path):
    return subprocess.run([TENON, "run", os.path.join(path, "manifest.json"), "--input", "x=random:2x4"],
                          capture_output=True, text=True, timeout=60)


def refuses(label, text, change):
    """`change` gets the manifest and the parts, and changes them."""
    global failed
    shutil.rmtree(bad, ignore_errors=True)
    shutil.copytree(good, bad)
    m = json.loads(json.dumps(manifest))
    parts = [onnx.load(os.path.join(good, f), load_external_data=False) for f in files]
    change(m, parts)
    for part, file in zip(parts, files):
        onnx.save(part, os.path.join(bad, file))
    with open(os.path.join(bad, "manifest.json"), "w") as f:
        json.dump(m, f)
    done = run(bad)
    if done.returncode not in (3, 4, 6) or text not in done.stderr:
        failed += 1
        print("FAIL %s: %d %.300s" % (label, done.returncode, done.stderr))


def own_constant(m, parts):
    parts[2].graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones((4, 4), np.float32), "w"))


def inner_name(m, parts):
    """The second part's inner value has the name of one of the first part's."""
    parts[2].graph.node[0].output[0] = parts[2].graph.node[1].input[0] = "a"


def function(part, op):
    part.functions.append(helper.make_function("own", "F", ["p"], ["q"], [helper.make_node(op, ["p"], ["q"])],
                                               [helper.make_opsetid("", 17)]))


def functions(m, parts):
    function(parts[0], "Relu")
    function(parts[1], "Neg")


def cycle(m, parts):
    parts[0].graph.node[0].input[0] = "y"


assert run(good).returncode == 0, run(good).stderr
refuses("opset", "part 1 has opset 9 of domain '', a part before it 17",
        lambda m, p: setattr(p[1].opset_import[0], "version", 9))
refuses("constants", "two parts make 'w', each in its own way", own_constant)
refuses("names", "two parts make 'a', each in its own way", inner_name)
refuses("functions", "two parts have a function 'F', each its own", functions)
refuses("cycle", "cycle", cycle)
refuses("a file twice", "two parts have the file", lambda m, p: m["parts"].append(m["parts"][0]))
refuses("a part too few", "'b'", lambda m, p: m["parts"].pop(1))
refuses("an output that is none", "no part has the output 'z'", lambda m, p: m["outputs"].append({"name": "z"}))
refuses("outside", "not a path inside", lambda m, p: m["parts"][0].update(file="../m.onnx"))
refuses("no file", "cannot open", lambda m, p: m["parts"][0].update(file="none.onnx"))
refuses("no parts", "no parts", lambda m, p: m["parts"].clear())
refuses("version", "manifest version 2", lambda m, p: m.update(version=2))
refuses("itself", "", lambda m, p: m["parts"][0].update(file="manifest.json"))
refuses("deep", "less nesting", lambda m, p: m.update(x=eval("[" * 40 + "]" * 40)))

shutil.rmtree(folder)
sys.exit(failed > 0)
