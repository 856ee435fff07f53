"""tenon split -o: parts as ONNX models, and the models they make together. ONNX Runtime is the oracle."""
# needs: numpy onnx onnxruntime
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

from _cli import TENON, tenon

FOLDER = tempfile.mkdtemp()
RNG = np.random.default_rng(3)


def tensor(name, *dims, type=T.FLOAT):
    return h.make_tensor_value_info(name, type, list(dims))


def save(name, nodes, inputs, outputs, weights):
    graph = h.make_graph(nodes, "net", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in weights])
    path = os.path.join(FOLDER, name + ".onnx")
    onnx.save(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8), path)
    return path


def mixed():
    """A static start, a size that only the run tells, an If that reads an outer value, a skip over all of it; aliases,
    constants as nodes, and an output that no node computes."""
    body = [h.make_graph([h.make_node("MatMul", ["picked", "w1"], ["b%d" % i])] if i else [h.make_node("Neg", ["picked"], ["b0"])],
                         "g%d" % i, [], [tensor("b%d" % i, None, 16)]) for i in range(2)]
    nodes = [
        h.make_node("Constant", [], ["two"], value=numpy_helper.from_array(np.float32(2))),
        h.make_node("Identity", ["two"], ["scale"]),
        h.make_node("MatMul", ["x", "w0"], ["m"], name="first"),
        h.make_node("Mul", ["m", "scale"], ["s"], name="second"),
        h.make_node("Tanh", ["s"], ["skip"], name="third"),
        h.make_node("NonZero", ["mask"], ["nz"], name="where"),
        h.make_node("Squeeze", ["nz", "zero"], ["index"], name="flat"),
        h.make_node("Gather", ["skip", "index"], ["picked"], name="pick"),
        h.make_node("If", ["flag"], ["chosen"], name="choose", then_branch=body[1], else_branch=body[0]),
        h.make_node("ReduceSum", ["chosen", "zero"], ["total"], name="sum", keepdims=1),
        h.make_node("Mul", ["total", "scale"], ["t2"], name="again"),
        h.make_node("Add", ["skip", "t2"], ["y"], name="last"),
        h.make_node("Identity", ["w0"], ["weights"]),
    ]
    weights = [("w0", RNG.standard_normal((16, 16)).astype(np.float32) / 4), ("w1", RNG.standard_normal((16, 16)).astype(np.float32)),
               ("zero", np.int64([0]))]
    return save("mixed", nodes, [tensor("x", 8, 16), tensor("mask", 8, type=T.BOOL), tensor("flag", type=T.BOOL)],
                [tensor("y", 8, 16), tensor("weights", 16, 16)], weights)


def feeds():
    return {"x": RNG.standard_normal((8, 16)).astype(np.float32), "mask": RNG.random(8) < 0.5, "flag": np.array(RNG.random() < 0.5)}


def split(path, *options):
    folder = tempfile.mkdtemp(dir=FOLDER)
    out, _ = tenon("split", path, "-o", folder, *options)
    with open(os.path.join(folder, "manifest.json")) as file:
        manifest = json.load(file)
    assert all(os.path.join(folder, p["file"]) in out for p in manifest["parts"])
    return folder, manifest


def run_parts(folder, manifest, values):
    """The parts in ONNX Runtime, one after the other."""
    values = dict(values)
    for part in manifest["parts"]:
        path = os.path.join(folder, part["file"])
        model = onnx.load(path)
        onnx.checker.check_model(path)
        assert [i.name for i in model.graph.input] == [p["name"] for p in part["inputs"]]
        session = ort.InferenceSession(path)
        if part["kind"] == "static":
            for port in session.get_inputs() + session.get_outputs():
                assert all(isinstance(d, int) for d in port.shape), (part["name"], port.name, port.shape)
        names = [p["name"] for p in part["outputs"]]
        values.update(zip(names, session.run(names, {p["name"]: values[p["name"]] for p in part["inputs"]})))
    return values


def parts_are_the_whole():
    path = mixed()
    folder, manifest = split(path, "--min-static-ops", "2")
    assert [p["kind"] for p in manifest["parts"]][:3] == ["static", "dynamic", "static"], manifest
    assert [p["name"] for p in manifest["inputs"]] == ["x", "mask", "flag"]
    whole = ort.InferenceSession(path)
    for _ in range(4):
        inputs = feeds()
        got = run_parts(folder, manifest, inputs)
        for name, want in zip(("y", "weights"), whole.run(["y", "weights"], inputs)):
            assert np.allclose(got[name], want, atol=1e-5), name
    # large tensors are in one file, once
    size = os.path.getsize(os.path.join(folder, manifest["weights"]))
    assert size == 2 * 16 * 16 * 4, size
    assert all(os.path.getsize(os.path.join(folder, p["file"])) < 4000 for p in manifest["parts"])


def joined():
    """The manifest is a model to every command."""
    path = mixed()
    folder, manifest = split(path, "--min-static-ops", "0", "--mode", "order")
    assert len(manifest["parts"]) > 2
    at = os.path.join(folder, "manifest.json")
    tenon("infer", at, "--check", "--runs", "2")
    inputs = feeds()
    for name, value in inputs.items():
        np.save(os.path.join(FOLDER, name + ".npy"), value)
    given = [word for name in inputs for word in ("--input", f"{name}={FOLDER}/{name}.npy")]
    for model in (path, at):
        tenon("run", model, *given, "--output", os.path.join(FOLDER, "out_" + os.path.basename(model)))
    results = [np.load(os.path.join(FOLDER, "out_" + os.path.basename(m), "y.npy")) for m in (path, at)]
    assert np.array_equal(*results)


def checked():
    path = mixed()
    for runner in ((), ("--runner", "tenon"), ("--runner", "ort")):
        folder = tempfile.mkdtemp(dir=FOLDER)
        done = subprocess.run([TENON, "split", path, "-o", folder, "--check", "--runs", "2", *runner], capture_output=True,
                              text=True, env={**os.environ, "PYTHON": sys.executable, "TMPDIR": FOLDER})
        assert done.returncode == 0 and done.stdout.count(" parts, equal\n") == 2, (runner, done.stdout, done.stderr)
    assert not [f for f in os.listdir(FOLDER) if f.startswith("tenon-")]
    tenon("split", path, "--check", status=2)
    folder = tempfile.mkdtemp(dir=FOLDER)
    tenon("split", path, "-o", folder, "--runner", "ort", status=2)
    tenon("split", path, "-o", folder, "--check", "--runner", "abacus", status=2)


def sizes_of_a_gear():
    path = save("net", [h.make_node("Conv", ["x", "w"], ["c"], strides=[2, 2]), h.make_node("Relu", ["c"], ["y"])],
                [tensor("x", "N", 3, "H", "W")], [tensor("y", "N", 4, None, None)],
                [("w", RNG.standard_normal((4, 3, 3, 3)).astype(np.float32))])
    gears = ("--input-shape", "x:1,3,-1,-1", "--dynamic-image-size", "8,8;16,32")
    folder, manifest = split(path, *gears, "--for-gear", "1", "--check")
    assert [p["kind"] for p in manifest["parts"]] == ["static"]
    session = ort.InferenceSession(os.path.join(folder, manifest["parts"][0]["file"]))
    assert session.get_inputs()[0].shape == [1, 3, 16, 32] and session.get_outputs()[0].shape == [1, 4, 7, 15]
    _, error = tenon("split", path, *gears, "--for-gear", "2", status=3)
    assert "there is no gear 2: 2 are given" in error
    tenon("split", path, *gears, status=2)
    tenon("split", path, "--for-gear", "0", status=2)


def names_of_sizes():
    """A part alone does not know H: the size of its input, (H + 1)//2, has a name of its own."""
    path = save("halves", [h.make_node("MaxPool", ["x"], ["a"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
                           h.make_node("Relu", ["a"], ["b"], name="mid"), h.make_node("Exp", ["b"], ["y"])],
                [tensor("x", 1, 1, "H", "W")], [tensor("y", 1, 1, None, None)], [])
    folder, manifest = split(path, "--force-dynamic", "mid", "--min-static-ops", "0", "--mode", "order", "--check")
    assert [p["kind"] for p in manifest["parts"]] == ["symbolic", "dynamic", "symbolic"], manifest
    model = onnx.load(os.path.join(folder, manifest["parts"][1]["file"]))
    assert [d.dim_param for d in model.graph.input[0].type.tensor_type.shape.dim][2:] == ["a_d2", "a_d3"]
    assert manifest["parts"][1]["inputs"][0]["type"] == "f32[1,1,(H + 1)//2,(W + 1)//2]"


def hostile():
    path = mixed()
    folder, manifest = split(path)
    at = os.path.join(folder, "manifest.json")
    with open(at) as file:
        text = file.read()
    for old, new, message in (('"version": 1', '"version": 9', "manifest version 9"), ('"parts"', '"pieces"', "has no parts"),
                              (manifest["parts"][0]["file"], "../../etc/passwd", "passwd"), ('"name": "x"', '"name": "q"', "'q'"),
                              (manifest["parts"][0]["file"], "absent.onnx", "absent.onnx"), ("]}", "", "line"),
                              ('"inputs": [', '"inputs": ' + "[" * 100, "line")):
        assert old in text
        bad = os.path.join(folder, "bad.json")
        with open(bad, "w") as file:
            file.write(text.replace(old, new))
        done = subprocess.run([TENON, "infer", bad], capture_output=True, text=True)
        assert done.returncode not in (0, 1) and done.returncode > 0 and message in done.stderr, (new, done.returncode, done.stderr)
    _, error = tenon("split", path, "-o", "/dev/null/x", status=6)
    assert "/dev/null/x" in error


for test in (parts_are_the_whole, joined, checked, sizes_of_a_gear, names_of_sizes, hostile):
    test()
    print("ok", test.__name__)
