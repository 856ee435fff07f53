"""contract, why and cost on small models. The expected numbers are worked by hand."""
# needs: numpy onnx
import json
import os
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _cli import tenon


def weights(name, *shape):
    return numpy_helper.from_array(np.zeros(shape, np.float32), name)


def save(folder, name, nodes, inputs, outputs, initializers=()):
    def info(n, shape):
        return helper.make_tensor_value_info(n, TensorProto.FLOAT, shape)

    graph = helper.make_graph(nodes, "g", [info(*i) for i in inputs], [info(o, None) for o in outputs], initializers)
    path = os.path.join(folder, name + ".onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def u_net(folder):
    """Three halvings and doublings with skips: valid where the sides are 1 or multiples of 8."""
    nodes, initializers, skips, at = [], [], [], "x"
    for i in range(3):
        initializers.append(weights("w%d" % i, 4, 4 if i else 3, 3, 3))
        nodes.append(helper.make_node("Conv", [at, "w%d" % i], ["c%d" % i], name="Conv_%d" % i, pads=[1] * 4))
        nodes.append(helper.make_node("MaxPool", ["c%d" % i], ["p%d" % i], name="Pool_%d" % i, kernel_shape=[3, 3],
                                      strides=[2, 2], pads=[1] * 4))
        skips.append("c%d" % i)
        at = "p%d" % i
    for i in reversed(range(3)):
        initializers.append(weights("t%d" % i, 4, 4, 2, 2))
        nodes.append(helper.make_node("ConvTranspose", [at, "t%d" % i], ["u%d" % i], name="Up_%d" % i, strides=[2, 2]))
        nodes.append(helper.make_node("Add", ["u%d" % i, skips[i]], ["a%d" % i], name="Add_%d" % i))
        at = "a%d" % i
    return save(folder, "unet", nodes, [("x", ["B", 3, "H", "W"])], [at], initializers)


def test_contract(folder):
    path = u_net(folder)
    out = json.loads(tenon("contract", path, "--json")[0])
    words = [c["words"] for c in out["conditions"]]
    assert "H must be 1 or a multiple of 8" in words and "W must be 1 or a multiple of 8" in words, words
    assert len(words) == 4, words
    rows = {c["words"]: c for c in out["conditions"]}
    assert "Add_0" in rows["H must be 1 or a multiple of 8"]["why"]
    assert rows["H must be 1 or a multiple of 8"]["fails"] == "H = 2"
    assert out["smallest"] == {"B": 1, "H": 1, "W": 1}
    nodes = [helper.make_node("Add", ["x", "y"], ["z"], name="sum")]
    free = save(folder, "free", [helper.make_node("Relu", ["x"], ["z"])], [("x", ["N"])], ["z"])
    assert "every size is valid" in tenon("contract", free)[0]
    text = tenon("contract", save(folder, "add", nodes, [("x", ["N", 8]), ("y", ["M", 8])], ["z"]))[0]
    assert "sum: cannot broadcast dim 0" in text, text


def test_why(folder):
    text = tenon("why", u_net(folder), "u2")[0]
    assert "from node 'Up_2' (ConvTranspose)" in text and "symbol H: dim 2 of input 'x'" in text, text
    assert "no value 'nothing'" in tenon("why", u_net(folder), "nothing", status=3)[1]
    found = save(folder, "nonzero", [helper.make_node("NonZero", ["x"], ["i"], name="find")], [("x", ["N"])], ["i"])
    assert "decided by data" in tenon("why", found, "i")[0]


def test_cost(folder):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    path = save(folder, "matmul", nodes, [("x", ["B", 64])], ["y"], [weights("w", 64, 32)])
    out = json.loads(tenon("cost", path, "--dim", "B=2", "--json")[0])
    assert out["parameters"] == 2048 and out["parameter_bytes"] == 8192, out
    assert out["flops"] == {"formula": "4128*B", "value": 8256}, out["flops"]  # 2*64*32*B + 32*B
    assert out["bytes"] == {"formula": "640*B + 8192", "value": 9472}, out["bytes"]  # x, w, m; m, y
    assert out["live_bytes"] == {"formula": "384*B", "value": 768}, out["live_bytes"]  # x and m
    most = json.loads(tenon("cost", path, "--vary", "B", "--max-memory", "1MiB", "--json")[0])["largest"]
    assert most == 1048576 // 384, most
    assert "no symbol 'Q'" in tenon("cost", path, "--dim", "Q=1", status=3)[1]
    assert "go together" in tenon("cost", path, "--vary", "B", status=2)[1]


def test_reshape_to_nothing(folder):
    """A size of 0 in a target means a copied dim: [B,4,0,8] to [-1,0,8] has 4 where the size was meant."""
    eight = numpy_helper.from_array(np.array([8], np.int64), "eight")
    rest = numpy_helper.from_array(np.array([-1], np.int64), "rest")
    nodes = [helper.make_node("Shape", ["x"], ["size"], start=2, end=3),
             helper.make_node("Concat", ["rest", "size", "eight"], ["target"], axis=0),
             helper.make_node("Reshape", ["x", "target"], ["y"], name="Merge")]
    path = save(folder, "merge", nodes, [("x", ["B", 4, "S", 8])], ["y"], [rest, eight])
    said = tenon("contract", path)[0]
    assert "1 <= S   (Merge: " in said and "fails at S = 0" in said, said
    assert "Merge" in tenon("run", path, "--input", "x=random:2x4x0x8", status=5)[1]
    tenon("run", path, "--input", "x=random:0x4x3x8")  # no rows at all are well


with tempfile.TemporaryDirectory() as folder:
    for name, test in sorted(globals().copy().items()):
        if name.startswith("test_"):
            test(folder)
            print("passed", name)
