"""Gears: the option grammar, what makes a list valid, each policy for a shape that is none, padding against numpy."""
# needs: numpy onnx
import os
import tempfile

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper

import tenon

FOLDER = tempfile.mkdtemp()
RNG = np.random.default_rng(7)


def tensor(name, *dims, type=T.FLOAT):
    return h.make_tensor_value_info(name, type, list(dims))


def save(name, nodes, inputs, outputs, weights=()):
    graph = h.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in weights])
    path = os.path.join(FOLDER, name + ".onnx")
    with open(path, "wb") as file:
        file.write(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8).SerializeToString())
    return path


W = RNG.standard_normal((3, 4)).astype(np.float32)
DENSE = save("dense", [h.make_node("MatMul", ["x", "w"], ["m"], name="dense"), h.make_node("Relu", ["m"], ["y"])],
             [tensor("x", "N", 3)], [tensor("y", "N", 4)], [("w", W)])
IMAGE = save("image", [h.make_node("Relu", ["x"], ["y"])], [tensor("x", "N", 3, "H", "W")], [tensor("y", "N", 3, "H", "W")])
PAIR = save("pair", [h.make_node("ReduceSum", ["a"], ["s"], name="sum_a", keepdims=0), h.make_node("Mul", ["b", "s"], ["y"])],
            [tensor("a", "A", 4), tensor("b", 2, "B")], [tensor("y", 2, "B")])


def refused(text, path=DENSE, status="INVALID", **options):
    try:
        tenon.compile(path, **options)
    except tenon.Error as e:
        assert e.status == status and text in str(e), (options, e.status, str(e))
        return
    raise AssertionError("not refused: %r" % options)


def not_run(session, text, status="MISMATCH", **inputs):
    try:
        session.run(inputs)
    except tenon.Error as e:
        assert e.status == status and text in str(e), (e.status, str(e))
        return
    raise AssertionError("not refused: " + text)


def zeros(*dims):
    return np.zeros(dims, np.float32)


def row_63_64():
    program = tenon.compile(DENSE, input_shape="x:-1,3", batch_sizes="1,2,4", gear_miss="exact")
    assert program.gears() == [({"x": (n, 3)}, {"y": (n, 4)}) for n in (1, 2, 4)]
    session = program.session()
    assert session.gear() == -1
    x = RNG.standard_normal((2, 3)).astype(np.float32)
    assert np.allclose(session.run({"x": x})["y"], np.maximum(x @ W, 0), atol=1e-6) and session.gear() == 1
    not_run(session, "x[0:3] is no gear", x=zeros(3, 3))
    session.set_gear(2)
    not_run(session, "x[0:2] is not gear 2", x=x)
    assert session.run({"x": zeros(4, 3)})["y"].shape == (4, 4)
    session.set_gear(-1)
    assert session.run({"x": x})["y"].shape == (2, 4)


def row_65_66_67_68_69():
    one = dict(input_shape="x:-1,3")
    refused("--dynamic-batch-size, at character 2: 1 gear, expected at least 2", batch_sizes="1", **one)
    refused("--dynamic-batch-size, at character 3: the gear is there already, as number 0", batch_sizes="2,2", **one)
    refused("--dynamic-batch-size, at character 3: 'a', expected a positive size", batch_sizes="1,a", **one)
    refused("only dim 0 may be", input_shape="x:3,-1", batch_sizes="1,2")
    refused("no dim of --input-shape is -1", input_shape="x:3,3", batch_sizes="1,2")
    refused("--input-shape must say which dims are -1", batch_sizes="1,2")
    refused("at character 5: '-', expected a positive size", batch_sizes="1,2,-1", **one)
    refused("exclude each other", batch_sizes="1,2", gear_dims="1;2", **one)
    refused("no range", input_shape="x:1~4,3", batch_sizes="1,2")
    refused("at character 1: a size beyond 64 bits", batch_sizes="9999999999999999999,2", **one)
    refused("character 1: the end, expected sizes", batch_sizes="", **one)
    for miss in ("", "nearest"):
        refused("expected dynamic, exact or pad", batch_sizes="1,2", gear_miss=miss, **one)
    refused("--gear-miss means nothing without gears", gear_miss="exact", **one)


def row_70():
    shape = dict(input_shape="x:1,3,-1,-1")
    program = tenon.compile(IMAGE, image_sizes="224,224;448,448", **shape)
    assert program.gears()[1] == ({"x": (1, 3, 448, 448)}, {"y": (1, 3, 448, 448)})
    last = save("last", [h.make_node("Relu", ["x"], ["y"])], [tensor("x", 1, "H", "W", 3)], [tensor("y", 1, "H", "W", 3)])
    program = tenon.compile(last, input_shape="x:1,-1,-1,3", image_sizes="8, 9; 9,8;", input_format="NHWC")
    assert [g[0]["x"] for g in program.gears()] == [(1, 8, 9, 3), (1, 9, 8, 3)]
    refused("ND has no height and width", IMAGE, image_sizes="224,224;448,448", input_format="ND", **shape)
    refused("expected NCHW, NHWC or ND", IMAGE, image_sizes="224,224;448,448", input_format="NC", **shape)
    refused("1 of 2 sizes, expected height,width", IMAGE, image_sizes="224", **shape)
    refused("more than 2 sizes", IMAGE, image_sizes="1,2,3;4,5,6", **shape)
    refused("must have 4 dims of which height and width (dims 2 and 3)", DENSE, input_shape="x:-1,3", image_sizes="1,2;3,4")
    refused("(dims 1 and 2)", IMAGE, image_sizes="1,2;3,4", input_format="NHWC", **shape)


def row_71_72_78():
    shape = dict(input_shape="a:-1,4;b:2,-1")
    program = tenon.compile(PAIR, gear_dims="1,8;2,16", **shape)
    assert [g[0] for g in program.gears()] == [{"a": (1, 4), "b": (2, 8)}, {"a": (2, 4), "b": (2, 16)}]
    refused("1 of 2 sizes, expected a size for each -1", PAIR, gear_dims="1;2", **shape)
    refused("at character 1: the end", PAIR, gear_dims="", **shape)
    # neither gear covers the other: memory serves both, and sizes are bound by name, in the order of the text
    program = tenon.compile(PAIR, input_shape="b:2,-1;a:-1,4", gear_dims="2,8;4,3", gear_miss="exact")
    assert [g[0] for g in program.gears()] == [{"a": (8, 4), "b": (2, 2)}, {"a": (3, 4), "b": (2, 4)}]
    session = program.session()
    for n, m in ((8, 2), (3, 4), (8, 2)):
        a, b = RNG.standard_normal((n, 4)).astype(np.float32), RNG.standard_normal((2, m)).astype(np.float32)
        assert np.allclose(session.run({"a": a, "b": b})["y"], b * a.sum(), rtol=1e-4)
    not_run(session, "a[0:8] b[1:4] is no gear", a=zeros(8, 4), b=zeros(2, 4))


def row_73_to_77_83():
    path = save("mixed", [h.make_node("Mul", ["x", "s"], ["y"]), h.make_node("Mul", ["c", "s"], ["z"]),
                          h.make_node("Identity", ["x"], ["same"])],
                [tensor("x", "N"), tensor("s")], [tensor("y", "N"), tensor("z", 2), tensor("same", "N")],
                [("c", np.ones(2, np.float32))])
    program = tenon.compile(path, input_shape="x:-1;s:", batch_sizes="1,2", gear_miss="exact")
    assert program.gears()[1] == ({"x": (2,), "s": ()}, {"y": (2,), "z": (2,), "same": (2,)})
    out = program.session().run({"x": np.float32([3, 4]), "s": np.array(2, np.float32)})
    assert out["y"].tolist() == [6, 8] and out["z"].tolist() == [2, 2] and out["same"].tolist() == [3, 4]
    refused("input 's': gears need its sizes in --input-shape ('s:' for a scalar)", path, input_shape="x:-1", batch_sizes="1,2")
    refused("the model has no input 't'", path, input_shape="x:-1;t:", batch_sizes="1,2")
    refused("'x' is named twice", path, input_shape="x:-1;x:-1;s:", batch_sizes="1,2")
    refused("2 dims in --input-shape, but 1 in the model", path, input_shape="x:-1,1;s:", batch_sizes="1,2")
    refused("0, expected a positive size", path, input_shape="x:-1;s:", batch_sizes="1,0")  # no gear is empty
    refused("more than 100 gears", path, input_shape="x:-1;s:", batch_sizes=",".join(map(str, range(1, 102))))
    assert len(tenon.compile(path, input_shape="x:-1;s:", batch_sizes=",".join(map(str, range(1, 101)))).gears()) == 100


def row_79_80():
    """A nested If in every gear; an output of data-dependent size; one that no gear changes."""
    inner = h.make_graph([h.make_node("Identity", ["x"], ["i"])], "inner", [], [tensor("i", "N", 3)])
    other = h.make_graph([h.make_node("Neg", ["x"], ["n"])], "other", [], [tensor("n", "N", 3)])
    nested = h.make_graph([h.make_node("If", ["c"], ["k"], then_branch=inner, else_branch=other)], "nested", [], [tensor("k", "N", 3)])
    path = save("nested", [h.make_node("If", ["c"], ["y"], then_branch=nested, else_branch=other),
                           h.make_node("NonZero", ["x"], ["z"]), h.make_node("Add", ["k", "k"], ["t"])],
                [tensor("x", "N", 3), tensor("c", type=T.BOOL)], [tensor("y", "N", 3), tensor("z", 2, None, type=T.INT64), tensor("t", 5)],
                [("k", np.ones(5, np.float32))])
    program = tenon.compile(path, input_shape="x:-1,3;c:", batch_sizes="2,4", gear_miss="exact")
    assert [g[1] for g in program.gears()] == [{"y": (n, 3), "z": (2, -1), "t": (5,)} for n in (2, 4)]
    session, x = program.session(), np.float32([[1, 0, 2], [0, 3, 0]])
    out = session.run({"x": x, "c": np.array(True)})
    assert (out["y"] == x).all() and (out["z"] == np.nonzero(x)).all()
    assert (session.run({"x": x, "c": np.array(False)})["y"] == -x).all()


def row_81():
    """Three gears in one session need the memory of the largest."""
    nodes = [h.make_node("Exp", ["x"], ["a"]), h.make_node("MatMul", ["a", "w"], ["b"]), h.make_node("MatMul", ["b", "w"], ["y"])]
    path = save("deep", nodes, [tensor("x", "N", 64)], [tensor("y", "N", 64)], [("w", np.eye(64, dtype=np.float32))])
    program = tenon.compile(path, input_shape="x:-1,64", batch_sizes="1000,2000,4000", gear_miss="exact")
    alone, all_three = program.session(), program.session()
    alone.run({"x": zeros(4000, 64)})
    for n in (1000, 4000, 2000):
        all_three.run({"x": zeros(n, 64)})
    largest, together = (s.stats() for s in (alone, all_three))
    assert together["total_bytes"] <= 1.02 * largest["total_bytes"], (together, largest)


def row_82():
    program = tenon.compile(DENSE, input_shape="x:-1,3", batch_sizes="1,2")
    session = program.session()
    x = RNG.standard_normal((7, 3)).astype(np.float32)
    assert np.allclose(session.run({"x": x})["y"], np.maximum(x @ W, 0), atol=1e-6) and session.gear() == -1


def padding():
    """What is cut out of a padded run is bit for bit what the gear's own shape gives."""
    path = os.path.join(FOLDER, "dense.tnp")
    tenon.compile(DENSE, input_shape="x:-1,3", batch_sizes="8,2,4", gear_miss="pad").save(path)
    session, plain = tenon.compile(path).session(), tenon.compile(DENSE).session()
    for n, gear in ((1, 1), (2, 1), (3, 2), (5, 0), (8, 0), (0, 1)):
        x = RNG.standard_normal((n, 3)).astype(np.float32)
        y = session.run({"x": x})["y"]
        assert y.shape == (n, 4) and session.gear() == gear, (n, gear, session.gear())
        assert np.allclose(y, plain.run({"x": x})["y"], atol=1e-6)
    not_run(session, "x[0:9] is larger than every gear", x=zeros(9, 3))
    assert session.run({"x": zeros(3, 3)})["y"].shape == (3, 4)


def block(n=None):
    """A transformer block without a mask, over [batch, length, 8]."""
    w = [("w%d" % i, (RNG.standard_normal((8, 8)) / 3).astype(np.float32)) for i in range(4)]
    shape = ("shape", np.int64([0, 0, 2, 4]))
    back = ("back", np.int64([0, 0, 8]))
    nodes = []
    for i, name in enumerate("qkv"):
        nodes += [h.make_node("MatMul", ["x", "w%d" % i], [name + "0"]), h.make_node("Reshape", [name + "0", "shape"], [name + "1"]),
                  h.make_node("Transpose", [name + "1"], [name], perm=[0, 2, 3, 1] if name == "k" else [0, 2, 1, 3])]
    nodes += [h.make_node("MatMul", ["q", "k"], ["s"]), h.make_node("Softmax", ["s"], ["p"], name="softmax"),
              h.make_node("MatMul", ["p", "v"], ["o"]), h.make_node("Transpose", ["o"], ["o1"], perm=[0, 2, 1, 3]),
              h.make_node("Reshape", ["o1", "back"], ["o2"]), h.make_node("MatMul", ["o2", "w3"], ["o3"]),
              h.make_node("Add", ["o3", "x"], ["y"])]
    return save("block", nodes, [tensor("x", "B", "S", 8)], [tensor("y", "B", "S", 8)], w + [shape, back])


def padding_is_proved():
    path = block()
    program = tenon.compile(path, input_shape="x:-1,6,8", batch_sizes="2,4", gear_miss="pad")
    x = RNG.standard_normal((3, 6, 8)).astype(np.float32)
    assert np.allclose(program.session().run({"x": x})["y"], tenon.compile(path).session().run({"x": x})["y"], atol=1e-5)
    # over the length, what is filled in reaches every position by way of the softmax
    refused("inputs cannot be padded: what is filled in may reach output 'y'", path, "UNSUPPORTED", input_shape="x:1,-1,8",
            gear_dims="8;16", gear_miss="pad")
    refused("node 'sum_a'", PAIR, "UNSUPPORTED", input_shape="a:-1,4;b:2,-1", gear_dims="1,8;2,16", gear_miss="pad")
    sizes = save("sizes", [h.make_node("Shape", ["x"], ["y"])], [tensor("x", "N", 3)], [tensor("y", 2, type=T.INT64)])
    refused("output 'y' tells their sizes", sizes, "UNSUPPORTED", input_shape="x:-1,3", batch_sizes="1,2", gear_miss="pad")
    words = save("words", [h.make_node("Identity", ["x"], ["y"])], [tensor("x", "N", type=T.STRING)], [tensor("y", "N", type=T.STRING)])
    refused("input 'x': it cannot be padded", words, "UNSUPPORTED", input_shape="x:-1", batch_sizes="1,2", gear_miss="pad")


def mixes():
    """Every operator that brings positions of the batch together is refused, or gives what it gives without padding."""
    x = RNG.standard_normal((3, 4, 5, 6)).astype(np.float32)
    one = np.ones(4, np.float32)
    cases = {
        "Softmax": (True, dict(axis=1), []), "Softmax ": (False, dict(axis=0), []),
        "ReduceMean": (True, dict(axes=[1, 3], keepdims=0), []), "ReduceMean ": (False, dict(axes=[0]), []),
        "ArgMax": (True, dict(axis=2), []), "ArgMax ": (False, dict(axis=0), []),
        "Transpose": (True, dict(perm=[2, 0, 1, 3]), []), "CumSum": (False, {}, [("axis", np.array(0))]),
        "Flatten": (True, dict(axis=2), []), "Reshape": (True, {}, [("to", np.int64([-1, 6]))]),
        "Reshape ": (False, {}, [("to", np.int64([2, -1]))]),
        "Conv": (True, {}, [("w", RNG.standard_normal((2, 4, 2, 2)).astype(np.float32))]),
        "MaxPool": (True, dict(kernel_shape=[2, 2]), []), "GlobalAveragePool": (True, {}, []),
        "BatchNormalization": (True, {}, [("s", one), ("b", one), ("m", one), ("v", one)]),
        "LayerNormalization": (True, dict(axis=2), [("s", np.ones((5, 6), np.float32))]),
        "LayerNormalization ": (False, dict(axis=0), [("s", np.ones(1, np.float32))]),
        "Gather": (True, dict(axis=3), [("i", np.array([[1], [0]]))]), "Gather ": (False, dict(axis=0), [("i", np.array([1, 0]))]),
        "Add": (True, {}, [("c", np.ones((4, 1, 1), np.float32))]), "MatMul": (True, {}, [("c", np.ones((6, 2), np.float32))]),
        "Slice": (False, {}, [("from", np.int64([-1])), ("until", np.int64([9])), ("axes", np.int64([0]))]),
    }
    for name, (is_fine, attributes, operands) in cases.items():
        node = h.make_node(name.strip(), ["x"] + [k for k, _ in operands], ["y"], name="it", **attributes)
        path = save("mix", [node], [tensor("x", "N", 4, 5, 6)], [h.make_empty_tensor_value_info("y")], operands)
        options = dict(input_shape="x:-1,4,5,6", batch_sizes="5,7", gear_miss="pad")
        if not is_fine:
            refused("node 'it'", path, "UNSUPPORTED", **options)
            continue
        session = tenon.compile(path, **options).session()
        wanted = tenon.compile(path).session().run({"x": x})["y"]
        got = session.run({"x": x})["y"]
        assert session.gear() == 0 and got.shape == wanted.shape and np.allclose(got, wanted, atol=1e-5), name


def narrowing():
    """The input shape without gears: sizes and ranges hold for all runs."""
    session = tenon.compile(DENSE, input_shape="x:2~4,3").session()
    assert session.run({"x": zeros(4, 3)})["y"].shape == (4, 4)
    not_run(session, "must be at least 2", x=zeros(1, 3))
    not_run(session, "must be at most 4", x=zeros(5, 3))
    assert tenon.compile(DENSE, input_shape="x:2,3").outputs[0][1] == "f32[2,4]"
    assert tenon.compile(DENSE, input_shape="x:-1,3").outputs[0][1] == "f32[N,4]"
    refused("dim 1 is 5 in --input-shape, but 3 in the model", input_shape="x:-1,5")
    refused("the range 4~2 is empty", input_shape="x:4~2,3")
    refused("expected NAME:SIZES", input_shape="x")
    refused("-2, expected -1 or a size", input_shape="x:-2,3")
    refused("gear 1 has 3 in dim 0, where the model has N = 2", save(
        "twice", [h.make_node("Add", ["x", "y"], ["z"])], [tensor("x", "N"), tensor("y", "N")], [tensor("z", "N")]),
        input_shape="x:-1;y:-1", gear_dims="1,1;2,3")
    even = save("even", [h.make_node("Reshape", ["x", "to"], ["y"], name="halve")], [tensor("x", "N")], [tensor("y", None, 2)],
                [("to", np.int64([-1, 2]))])
    refused("gear 1 is no valid shape", even, input_shape="x:-1", batch_sizes="2,3")


for test in (row_63_64, row_65_66_67_68_69, row_70, row_71_72_78, row_73_to_77_83, row_79_80, row_81, row_82, padding,
             padding_is_proved, mixes, narrowing):
    test()
    print("ok", test.__name__)
