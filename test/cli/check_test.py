"""infer --check: what it compares, and that it finds a shape that is wrong. The wrong shapes are declared in the models where
no rule knows better, so that inference believes them."""
# needs: numpy onnx
import json
import os
import resource
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _cli import tenon

SOURCE = os.environ["TENON_SOURCE"]


def info(name, dtype, shape):
    return helper.make_tensor_value_info(name, dtype, shape)


def save(folder, name, graph):
    path = os.path.join(folder, name + ".onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def reshaped(folder, name, declared):
    """A target of unknown length: the rank is data, and `declared` is all that inference has."""
    nodes = [helper.make_node("NonZero", ["mask"], ["at"], name="find"),
             helper.make_node("Shape", ["at"], ["two"], name="shape"),
             helper.make_node("Slice", ["two", "first", "end"], ["target"], name="cut"),
             helper.make_node("Reshape", ["x", "target"], ["r"], name="reshape"),
             helper.make_node("Relu", ["r"], ["y"], name="relu")]
    first = numpy_helper.from_array(np.array([1], np.int64), "first")
    return save(folder, name, helper.make_graph(
        nodes, "g", [info("mask", TensorProto.FLOAT, ["N"]), info("x", TensorProto.FLOAT, [0]),
                     info("end", TensorProto.INT64, [1])],
        [info("y", TensorProto.FLOAT, None)], [first], value_info=[info("r", TensorProto.FLOAT, declared)]))


def branched(folder, name, declared):
    """A branch in a loop's body whose value has a rank that `end` decides, declared."""
    then = helper.make_graph(
        [helper.make_node("Shape", ["longer"], ["size"]),
         helper.make_node("Slice", ["size", "first", "end"], ["target"]),
         helper.make_node("Reshape", ["longer", "target"], ["kept"], name="reshape")],
        "then", [], [info("kept", TensorProto.FLOAT, declared)],
        [numpy_helper.from_array(np.array([0], np.int64), "first")])
    other = helper.make_graph([helper.make_node("Identity", ["longer"], ["same"])], "other", [],
                              [info("same", TensorProto.FLOAT, None)])
    nodes = [helper.make_node("Concat", ["x", "x"], ["longer"], axis=0),
             helper.make_node("If", ["choose"], ["y"], then_branch=then, else_branch=other, name="if")]
    return save(folder, name, helper.make_graph(
        nodes, "g", [info("choose", TensorProto.BOOL, []), info("x", TensorProto.FLOAT, ["N"]),
                     info("end", TensorProto.INT64, [1])], [info("y", TensorProto.FLOAT, None)]))


def looped(folder, name):
    """A body that appends 2 elements a round to its state: its values have other sizes each round."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["again"]),
         helper.make_node("Concat", ["state", "two"], ["longer"], axis=0, name="append")],
        "body", [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []),
                 info("state", TensorProto.FLOAT, None)],
        [info("again", TensorProto.BOOL, []), info("longer", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.ones(2, np.float32), "two")])
    return save(folder, name, helper.make_graph(
        [helper.make_node("Loop", ["rounds", "", "x"], ["y"], body=body, name="loop")], "g",
        [info("rounds", TensorProto.INT64, []), info("x", TensorProto.FLOAT, ["N"])],
        [info("y", TensorProto.FLOAT, None)]))


def test_agrees():
    path = os.path.join(SOURCE, "examples", "dynamic.onnx")
    text = tenon("infer", path, "--check", "--runs", "3")[0]
    assert "3 runs, " in text and ", 0 differ" in text, text
    again = json.loads(tenon("infer", path, "--check", "--runs", "3", "--json")[0])
    assert [sorted(r["sizes"]) for r in again["runs"]] == [["batch", "height", "length", "width"]] * 3
    assert again["differ"] == [] and again["n_differ"] == 0
    assert again["n_values"] == sum(r["values"] for r in again["runs"]) > 300
    assert json.loads(tenon("infer", path, "--check", "--runs", "3", "--json")[0]) == again
    other = json.loads(tenon("infer", path, "--check", "--runs", "3", "--seed", "5", "--json")[0])
    assert other["runs"] != again["runs"]


def test_declared_wrong(folder):
    out, _ = tenon("infer", reshaped(folder, "rank", [0, 3]), "--check", status=1)
    assert "node 'reshape' (Reshape): value 'r': rank is 1, not 2" in out, out
    rows = json.loads(tenon("infer", reshaped(folder, "rank", [0, 3]), "--check", "--json", status=1)[0])["differ"]
    assert [r["value"] for r in rows] == ["r", "y"], rows
    assert "0 differ" in tenon("infer", reshaped(folder, "right", [0]), "--check")[0]


def test_in_a_body(folder):
    out, _ = tenon("infer", branched(folder, "branch", [7, 7]), "--check", status=1)
    assert "node 'reshape' (Reshape): value 'kept': rank is 1, not 2" in out, out
    assert "0 differ" in tenon("infer", branched(folder, "free", None), "--check")[0]
    out = json.loads(tenon("infer", looped(folder, "loop"), "--check", "--json")[0])
    assert out["n_differ"] == 0
    for run in out["runs"]:  # inputs and the result, once; three parameters, the constant and two results each round
        assert run["values"] == 3 + 6 * max(0, run["sizes"]["rounds_e0"]), run


def test_missing_demand(folder):
    """An index that only data gives: no contents at that size make the run fail by themselves, so none is reported."""
    table = numpy_helper.from_array(np.zeros((3, 4), np.float32), "table")
    path = save(folder, "gather", helper.make_graph(
        [helper.make_node("Gather", ["table", "ids"], ["y"], name="look")], "g",
        [info("ids", TensorProto.INT64, ["N", "N"])], [info("y", TensorProto.FLOAT, None)], [table]))
    assert "0 differ" in tenon("infer", path, "--check", "--runs", "20")[0]


def test_sizes_by_contents(folder):
    """Twelve sizes that only data gives: most contents make a value too large to try."""
    path = save(folder, "expand", helper.make_graph(
        [helper.make_node("Expand", ["x", "sizes"], ["y"], name="grow")], "g",
        [info("x", TensorProto.FLOAT, []), info("sizes", TensorProto.INT64, [12])], [info("y", TensorProto.FLOAT, None)]))
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert "0 differ" in tenon("infer", path, "--check", "--runs", "10")[0]
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 10  # 0.03


def test_oracle(folder):
    """Where of rising ranks; a loop that may run no round; axes that only data gives, of which some are given twice."""
    path = save(folder, "where", helper.make_graph(
        [helper.make_node("Where", ["c", "x", "y"], ["o"])], "g",
        [info("c", TensorProto.BOOL, ["A", 1]), info("x", TensorProto.FLOAT, ["B"]), info("y", TensorProto.FLOAT, ["C", 1, "D"])],
        [info("o", TensorProto.FLOAT, None)]))
    assert "0 differ" in tenon("infer", path, "--check", "--runs", "20")[0]
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["on"]), helper.make_node("Relu", ["x"], ["row"])], "body",
        [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, [])],
        [info("on", TensorProto.BOOL, []), info("row", TensorProto.FLOAT, None)])
    path = save(folder, "none", helper.make_graph(
        [helper.make_node("Loop", ["n", ""], ["y"], body=body)], "g",
        [info("n", TensorProto.INT64, []), info("x", TensorProto.FLOAT, ["N", 3])], [info("y", TensorProto.FLOAT, None)]))
    assert "0 differ" in tenon("infer", path, "--check", "--runs", "20")[0]
    path = os.path.join(folder, "axes.onnx")
    onnx.save(helper.make_model(helper.make_graph(
        [helper.make_node("ReduceMean", ["x", "axes"], ["y"])], "g",
        [info("x", TensorProto.FLOAT, ["A", "B"]), info("axes", TensorProto.INT64, ["K"])],
        [info("y", TensorProto.FLOAT, None)]), opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    assert "0 differ" in tenon("infer", path, "--check", "--runs", "20")[0]


with tempfile.TemporaryDirectory() as folder:
    test_agrees()
    for test in (test_declared_wrong, test_in_a_body, test_missing_demand, test_sizes_by_contents, test_oracle):
        test(folder)
        print("passed", test.__name__)
