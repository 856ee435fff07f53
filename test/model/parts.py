"""Splits of real models: the parts together are the whole; a table of a foreign device gives parts of fixed shapes that
ONNX Runtime takes; three gears need the memory of the largest."""
# needs: numpy onnx onnxruntime wheels
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

import tenon
from _compare import WHEELS, wheel

TENON = os.environ["TENON"]
FOLDER = tempfile.mkdtemp()
TARGET = os.path.join(os.environ["TENON_SOURCE"], "examples", "fixed.target")
TAKES = {"Conv", "Relu", "Add", "Mul", "MaxPool", "Gemm"}


def split(path, *options):
    folder = tempfile.mkdtemp(dir=FOLDER)
    done = subprocess.run([TENON, "split", path, "-o", folder, *options], capture_output=True, text=True,
                          env={**os.environ, "PYTHON": sys.executable})
    assert done.returncode == 0, (path, options, done.stdout[-1000:], done.stderr[-2000:])
    with open(os.path.join(folder, "manifest.json")) as file:
        return folder, json.load(file), done.stdout


def every_model():
    for folder, _, files in sorted(os.walk(WHEELS)):
        for name in sorted(f for f in files if f.endswith(".onnx")):
            path = os.path.join(folder, name)
            names = [n.name for n in onnx.load(path, load_external_data=False).graph.node if n.name and n.op_type != "Constant"]
            forced = [word for n in names[3::20] for word in ("--force-dynamic", n)]
            for options in (("--mode", "order", "--min-static-ops", "0"), ("--mode", "known-first", *forced)):
                _, manifest, out = split(path, "--check", "--runs", "1", *options)
                assert out.count(" equal\n") == 1, out
                print("ok   %s %s: %d parts" % (name, options[1], len(manifest["parts"])))


def foreign_device(path, shape, inputs):
    folder, manifest, _ = split(path, "--target", TARGET, "--input-shape", shape, "--min-static-ops", "0")
    whole = onnxruntime.InferenceSession(path)
    values, taken = dict(inputs), 0
    for part in manifest["parts"]:
        file = os.path.join(folder, part["file"])
        onnx.checker.check_model(file)
        session = onnxruntime.InferenceSession(file)
        if part["engine"] == "device":
            taken += 1
            ports = session.get_inputs() + session.get_outputs()
            assert part["kind"] == "static" and all(isinstance(d, int) for p in ports for d in p.shape), part["name"]
            kinds = {n.op_type for n in onnx.load(file, load_external_data=False).graph.node}
            assert kinds <= TAKES | {"Constant", "Identity"}, kinds
        names = [p["name"] for p in part["outputs"]]
        values.update(zip(names, session.run(names, {p["name"]: values[p["name"]] for p in part["inputs"]})))
    for port, want in zip(whole.get_outputs(), whole.run(None, inputs)):
        error = np.abs(values[port.name].astype("f8") - want).max()
        assert error <= 1e-4 * max(1, np.abs(want).max()), (port.name, error)
    assert taken, "the device takes nothing"
    print("ok   %s: %d of %d parts on the device" % (os.path.basename(path), taken, len(manifest["parts"])))


def encoder(layers=2, width=32, heads=4, length=12):
    """BERT's layers: attention with a mask, normalisation after each block, Gelu by Erf."""
    rng = np.random.default_rng(1)
    nodes, weights = [], []

    def const(name, array):
        weights.append(onnx.numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(op, *inputs, **attributes):
        out = "%s_%d" % (op, len(nodes))
        nodes.append(onnx.helper.make_node(op, list(inputs), [out], name=out, **attributes))
        return out

    def dense(x, rows, columns):
        n = len(weights)
        flat = node("Reshape", x, const("flat%d" % n, np.int64([-1, rows])))
        y = node("Gemm", flat, const("w%d" % n, (rng.standard_normal((rows, columns)) / rows**0.5).astype("f4")),
                 const("b%d" % n, np.zeros(columns, "f4")))
        return node("Reshape", y, const("back%d" % n, np.int64([-1, length, columns])))

    def norm(x):
        n = len(weights)
        return node("LayerNormalization", x, const("g%d" % n, np.ones(width, "f4")), const("c%d" % n, np.zeros(width, "f4")))

    split_heads = const("heads", np.int64([0, 0, heads, width // heads]))
    x = "x"
    for _ in range(layers):
        q, k, v = (node("Transpose", node("Reshape", dense(x, width, width), split_heads), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = node("Add", node("Mul", node("MatMul", q, k), const("scale%d" % len(weights), np.float32(0.35))), "mask")
        o = node("Transpose", node("MatMul", node("Softmax", scores), v), perm=[0, 2, 1, 3])
        o = node("Reshape", o, const("join%d" % len(weights), np.int64([0, 0, width])))
        x = norm(node("Add", x, dense(o, width, width)))
        h = dense(x, width, 4 * width)
        half = const("half%d" % len(weights), np.float32(0.5))
        gate = node("Add", node("Erf", node("Mul", h, const("r%d" % len(weights), np.float32(0.7071068)))), const("one%d" % len(weights), np.float32(1)))
        x = norm(node("Add", x, dense(node("Mul", node("Mul", h, gate), half), 4 * width, width)))
    graph = onnx.helper.make_graph(nodes, "bert", [onnx.helper.make_tensor_value_info("x", 1, ["batch", length, width]),
                                                   onnx.helper.make_tensor_value_info("mask", 1, ["batch", 1, 1, length])],
                                   [onnx.helper.make_tensor_value_info(x, 1, ["batch", length, width])], weights)
    path = os.path.join(FOLDER, "bert.onnx")
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return path, {"x": rng.standard_normal((2, length, width)).astype("f4"), "mask": np.zeros((2, 1, 1, length), "f4")}


def memory_of_gears(path):
    program = tenon.compile(path, input_shape="x:1,3,-1,-1", image_sizes="320,320;640,640;960,960", gear_miss="exact")
    sizes = (320, 640, 960)
    one, three = program.session(), program.session()
    one.run({"x": np.zeros((1, 3, 960, 960), "f4")})
    for gear in (0, 2, 1):
        x = np.random.default_rng(gear).standard_normal((1, 3, sizes[gear], sizes[gear])).astype("f4")
        out = three.run({"x": x})
        assert three.gear() == gear and list(out.values())[0].shape == program.gears()[gear][1][program.outputs[0][0]]
    ratio = three.stats()["total_bytes"] / one.stats()["total_bytes"]
    print("ok   memory of three gears: %.4f of the largest alone" % ratio)
    assert ratio <= 1.02, ratio


det = wheel("ch_PP-OCRv4_det_infer.onnx")
memory_of_gears(det)
foreign_device(det, "x:1,3,64,96", {"x": np.random.default_rng(0).standard_normal((1, 3, 64, 96)).astype("f4")})
bert, inputs = encoder()
foreign_device(bert, "x:2,12,32;mask:2,1,1,12", inputs)
every_model()
