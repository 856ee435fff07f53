"""State between runs: outputs that are inputs of the next run; weights that are outputs, and that bodies read."""
# needs: numpy onnx
import os
import tempfile

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

import tenon

FOLDER = tempfile.mkdtemp()


def tensor(name, *dims, type=T.FLOAT):
    return h.make_tensor_value_info(name, type, list(dims))


def model(nodes, inputs, outputs, weights=()):
    path = os.path.join(FOLDER, "m.onnx")
    graph = h.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in weights])
    with open(path, "wb") as file:
        file.write(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return path


def refused(status, text, function, *arguments):
    try:
        function(*arguments)
    except tenon.Error as e:
        assert e.status == status and text in str(e), (e.status, str(e))
        return
    raise AssertionError("not refused: " + text)


def a_cache_grows():
    """past' = concat(past, x): each run's input is the last one's output, of another size each time."""
    path = model([h.make_node("Concat", ["past", "x"], ["present"], axis=0), h.make_node("ReduceSum", ["present"], ["sum"], keepdims=0)],
                 [tensor("past", "P", 2), tensor("x", "N", 2)], [tensor("present", None, 2), tensor("sum")])
    session = tenon.compile(path).session()
    session.link("present", "past")
    want = np.zeros((0, 2), np.float32)
    session.set_input("past", want)
    for i in range(1, 40):
        x = np.full((i % 3, 2), i, np.float32)
        out = session.run({"x": x})
        want = np.concatenate([want, x])
        assert (out["present"] == want).all() and out["sum"] == want.sum()
    session.set_input("past", np.ones((1, 2), np.float32))  # from anew
    assert session.run({"x": np.ones((1, 2), np.float32)})["sum"] == 4
    session.link(None, "past")
    session.set_input("past", np.zeros((1, 2), np.float32))
    for _ in range(2):
        assert session.run()["sum"] == 2


def views_and_swaps():
    """Outputs that are their inputs, crossed over: no one is overwritten before it is read."""
    path = model([h.make_node("Identity", ["b"], ["a1"]), h.make_node("Reshape", ["a", "to"], ["b1"])],
                 [tensor("a", 4), tensor("b", 4)], [tensor("a1", 4), tensor("b1", 4)], [("to", np.int64([4]))])
    session = tenon.compile(path).session()
    session.link("a1", "a")
    session.link("b1", "b")
    a, b = np.float32([1, 2, 3, 4]), np.float32([5, 6, 7, 8])
    session.set_input("a", a)
    session.set_input("b", b)
    for _ in range(5):
        out = session.run()
        a, b = b, a
        assert (out["a1"] == a).all() and (out["b1"] == b).all()


def weights_are_outputs():
    """An initializer that is an output itself, is passed on, and is read in a body, where it is an output too."""
    w = np.arange(6, dtype=np.float32).reshape(2, 3)
    body = h.make_graph([h.make_node("Add", ["w", "x"], ["s"])], "then", [], [tensor("s", 2, 3)])
    other = h.make_graph([h.make_node("Identity", ["w"], ["t"])], "else", [], [tensor("t", 2, 3)])
    path = model([h.make_node("If", ["c"], ["y"], then_branch=body, else_branch=other), h.make_node("Identity", ["w"], ["copy"])],
                 [tensor("x", 2, 3), tensor("c", type=T.BOOL)], [tensor("y", 2, 3), tensor("w", 2, 3), tensor("copy", 2, 3)], [("w", w)])
    session = tenon.compile(path).session()
    for c in (True, False, True):
        out = session.run({"x": np.ones((2, 3), np.float32), "c": np.array(c)})
        assert (out["y"] == w + c).all() and (out["w"] == w).all() and (out["copy"] == w).all()
    # a weight that the graph updates: its first value is the weight, then what the graph made of it
    path = model([h.make_node("Add", ["v", "step"], ["next"])], [tensor("v", 3)], [tensor("next", 3)], [("step", np.float32([1, 2, 3]))])
    session = tenon.compile(path).session()
    session.link("next", "v")
    session.set_input("v", np.zeros(3, np.float32))
    for i in range(1, 5):
        assert session.run()["next"].tolist() == [i, 2 * i, 3 * i]


def what_cannot_be():
    path = model([h.make_node("Cast", ["x"], ["y"], to=T.INT64), h.make_node("Identity", ["s"], ["t"]), h.make_node("Neg", ["x"], ["z"])],
                 [tensor("x", "N"), tensor("s", 1, type=T.STRING)], [tensor("y", "N", type=T.INT64), tensor("t", 1, type=T.STRING), tensor("z", "N")])
    session = tenon.compile(path).session()
    refused("MISMATCH", "output 'y' (i64[N]) cannot be input 'x' (f32[N])", session.link, "y", "x")
    refused("MISMATCH", "cannot be input 's'", session.link, "t", "s")
    refused("INVALID", "there is no output 'q'", session.link, "q", "x")
    refused("INVALID", "there is no input 'q'", session.link, "z", "q")
    fixed = tenon.compile(model([h.make_node("Concat", ["x", "x"], ["y"], axis=0)], [tensor("x", 2)], [tensor("y", 4)])).session()
    fixed.link("y", "x")
    fixed.set_input("x", np.zeros(2, np.float32))
    fixed.run()
    refused("MISMATCH", "dim 0 is 4, expected 2", fixed.run)
    fixed.set_input("x", np.ones(2, np.float32))  # the session goes on
    assert fixed.run()["y"].tolist() == [1] * 4


for test in (a_cache_grows, views_and_swaps, weights_are_outputs, what_cannot_be):
    test()
    print("ok", test.__name__)
