"""Resize under keep_aspect_ratio_policy: the formulas, and what runs, against ONNX Runtime at many sizes; also where the
float32 product falls on the other side of a half than the exact one."""
# needs: numpy onnx onnxruntime
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, os.path.join(os.environ["TENON_SOURCE"], "bench"))

import _fragments  # noqa: E402
import tenon  # noqa: E402

rng = np.random.default_rng(5)
# 37*fl(3/74), 27*fl(7/6), ...: n*a/d is a half, the product in float32 is below
HALVES = [(74, 37, 3), (6, 27, 7), (46, 23, 7), (22, 11, 13), (44, 22, 13)]


def model(dims, policy, axes, sizes):
    """sizes: numbers, or None: those of input `like`."""
    names = ["x", "", "", "sizes"]
    nodes, constants, inputs = [], [], [helper.make_tensor_value_info("x", TensorProto.FLOAT, dims)]
    n = len(axes or dims)
    if sizes is None:
        inputs.append(helper.make_tensor_value_info("like", TensorProto.FLOAT, ["P", "Q", "R"][:n]))
        nodes.append(helper.make_node("Shape", ["like"], ["sizes"]))
    else:
        constants.append(numpy_helper.from_array(np.array(sizes, np.int64), "sizes"))
    attrs = {"axes": axes} if axes else {}
    nodes.append(helper.make_node("Resize", names, ["y"], name="fit", keep_aspect_ratio_policy=policy, **attrs))
    graph = helper.make_graph(nodes, "g", inputs, [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def facts(folder, made):
    path = os.path.join(folder, "m.onnx")
    onnx.save(made, path)
    done = subprocess.run([os.environ["TENON"], "infer", "--json", path], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def bindings(names, count):
    most = {"H": 90, "W": 90, "P": 60, "Q": 60, "R": 60, "B": 3}
    for _ in range(count):
        yield {n: int(rng.integers(1, most[n] + 1)) for n in names}
    for h, w, n in HALVES:
        yield {name: {"H": h, "W": w}.get(name, n) for name in names}
        yield {name: {"H": w, "W": h}.get(name, n) for name in names}


def compare(folder, dims, policy, axes, sizes, count=60):
    made = model(dims, policy, axes, sizes)
    shape = facts(folder, made)["values"]["y"]["shape"]
    names = [d for d in dims if isinstance(d, str)] + (["P", "Q", "R"][:len(axes or dims)] if sizes is None else [])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    judge = onnxruntime.InferenceSession(made.SerializeToString(), options)
    ours = tenon.compile(os.path.join(folder, "m.onnx")).session()
    compared = 0
    for bind in bindings(names, count):
        said = tuple(_fragments.value(d, bind) for d in shape)
        if np.prod(said, dtype=float) > 1e6:
            continue
        feed = {"x": np.zeros([bind.get(d, d) for d in dims], np.float32)}
        if sizes is None:
            feed["like"] = np.zeros([bind[n] for n in ["P", "Q", "R"][:len(axes or dims)]], np.float32)
        try:
            want = judge.run(None, feed)[0].shape
        except Exception:  # it does not shrink a side to nothing
            continue
        ran = ours.run(feed)["y"].shape
        assert said == want == ran, (policy, axes, sizes, shape, bind, said, ran, want)
        compared += 1
    assert compared > count // 4, (policy, axes, sizes, compared)
    return compared


with tempfile.TemporaryDirectory() as folder:
    total = 0
    image = ["B", 2, "H", "W"]
    for policy, best in (("not_larger", "min"), ("not_smaller", "max")):
        shape = facts(folder, model(image, policy, [2, 3], [224, 160]))["values"]["y"]["shape"]
        assert shape == ["B", 2, "%s(224, f32ratio(H, 160, W))" % best, "%s(160, f32ratio(W, 224, H))" % best], shape
        shape = facts(folder, model(image, policy, [3], [224]))["values"]["y"]["shape"]
        assert shape == ["B", 2, "H", 224], shape
        for sizes in ([7, 7], [3, 13], [13, 7], [40, 31], [224, 224]):
            total += compare(folder, image, policy, [2, 3], sizes)
            total += compare(folder, image, policy, [3, 2], sizes)
            total += compare(folder, ["H", "W"], policy, None, sizes)
            total += compare(folder, [37, "W"], policy, None, sizes, 10)
            total += compare(folder, ["H", 27], policy, None, sizes, 10)
        total += compare(folder, image, policy, [2, 3], None, 200)
        total += compare(folder, image, policy, [3, 2], None, 50)
        total += compare(folder, image, policy, [2], None, 30)
        total += compare(folder, ["B", "H", "W"], policy, [2, 0, 1], None, 100)
        total += compare(folder, ["B", "H", "W"], policy, None, [5, 20, 30], 50)
    # a size that data decides: a formula of its symbol, or of what is not known at all a bound
    node, info = helper.make_node, helper.make_tensor_value_info
    fit = lambda policy: [node("Concat", ["fixed", "some"], ["sizes"], axis=0),
                          node("Resize", ["x", "", "", "sizes"], ["y"], axes=[0, 1], keep_aspect_ratio_policy=policy)]
    counted = [node("NonZero", ["m"], ["i"]), node("Shape", ["i"], ["some"], start=1)]
    computed = [node("ReduceSum", ["m"], ["sum"], keepdims=1), node("Cast", ["sum"], ["some"], to=TensorProto.INT64)]
    for policy, nodes in (("not_larger", counted), ("not_larger", computed), ("not_smaller", computed)):
        graph = helper.make_graph(nodes + fit(policy), "g", [info("x", 1, ["H", "W"]), info("m", 1, ["M"])], [info("y", 1, None)],
                                  [numpy_helper.from_array(np.array([9], np.int64), "fixed")])
        made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        out = facts(folder, made)
        shape = out["values"]["y"]["shape"]
        if nodes is counted:
            assert shape[0] == "min(9, select(W == 0, H, f32ratio(H, i_d1, W)))", shape
        elif policy == "not_larger":
            assert out["symbols"][shape[0]]["max"] == 9 and out["symbols"][shape[1]]["at_most"] == "f32ratio(W, 9, H)", out
        else:
            assert [out["symbols"][s]["min"] for s in shape] == [9, 0], (shape, out["symbols"])
        session = tenon.compile(os.path.join(folder, "m.onnx")).session()
        judge = onnxruntime.InferenceSession(made.SerializeToString())
        for h, w, m in ((20, 30, 12), (20, 30, 4), (5, 5, 40)):
            feed = {"x": np.ones([h, w], np.float32), "m": np.ones([m], np.float32)}
            assert session.run(feed)["y"].shape == judge.run(None, feed)[0].shape
    print("%d shapes compared" % total)
