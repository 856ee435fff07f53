# needs: numpy onnx onnxruntime
"""Gradient against differences of what the reference implementation of the onnx package computes in double precision."""
import sys

import numpy as np
from onnx import TensorProto, helper

from _both import by_reference as theirs, ours

rng = np.random.default_rng(3)
F64, I64 = TensorProto.DOUBLE, TensorProto.INT64
TRAINING = "ai.onnx.preview.training"
failed = 0


def info(name, array):
    kind = helper.np_dtype_to_tensor_dtype(array.dtype)
    return helper.make_tensor_value_info(name, kind, ["%s_%d" % (name, d) for d in range(array.ndim)])


def model(nodes, feeds, outputs, constants):
    graph = helper.make_graph(nodes, "g", [info(n, a) for n, a in feeds.items()], [helper.make_empty_tensor_value_info(o) for o in outputs],
                              [helper.make_tensor(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape, a.ravel().tolist()) for n, a in constants.items()])
    it = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid(TRAINING, 1)])
    it.ir_version = 10
    return it.SerializeToString()


def differences(forward, feeds, weights, name, step):
    """d sum(weights * y) / d feeds[name], for some of the elements; NaN elsewhere."""
    out = np.full_like(feeds[name], np.nan)
    places = list(np.ndindex(out.shape))
    for i in rng.permutation(len(places))[:6]:
        at = places[i]
        sides = []
        for sign in (1, -1):
            moved = {n: a.copy() for n, a in feeds.items()}
            moved[name][at] += sign * step
            sides.append(float((theirs(forward, moved)[0] * weights).sum()))
        out[at] = (sides[0] - sides[1]) / (2 * step)
    return out


def say(ok, label, text=""):
    global failed
    failed += not ok
    print("%s %s %s" % ("ok  " if ok else "FAIL", label, text))


def check(label, nodes, feeds, by, constants={}, tolerance=2e-6, step=1e-6):
    """nodes compute y. It is weighted inside of the model, so that every element of y counts differently."""
    shape = theirs(model(nodes, feeds, ["y"], constants), feeds)[0].shape
    weights = rng.standard_normal(shape)
    forward = model(nodes, feeds, ["y"], constants)
    backward = model(nodes + [helper.make_node("Mul", ["y", "weights"], ["z"]),
                              helper.make_node("Gradient", by, ["d_" + n for n in by], domain=TRAINING, xs=by, y="z")],
                     feeds, ["d_" + n for n in by], {**constants, "weights": weights})
    try:
        got = ours(backward, feeds)
    except Exception as e:
        return say(False, label, str(e))
    for n in by:
        want, have = differences(forward, feeds, weights, n, step), got["d_" + n]
        ok = have.shape == want.shape and have.dtype == want.dtype
        known = ~np.isnan(want)
        error = (np.abs(have - want) / np.maximum(1, np.abs(want)))[known].max(initial=0) if ok else np.inf
        say(error <= tolerance, "%s by %s" % (label, n), "error %.2g" % error)


def one(op, feeds, by=None, constants={}, label=None, **attrs):
    names = list(feeds) + list(constants)
    check(label or op, [helper.make_node(op, names, ["y"], name="it", **attrs)], feeds, by or list(feeds), constants)


real = lambda *shape: rng.standard_normal(shape)
positive = lambda *shape: rng.uniform(0.5, 2, shape)
share = lambda *shape: rng.uniform(-0.9, 0.9, shape)
whole = lambda *v: np.array(v, "i8")

for op in ("Neg", "Identity", "Relu", "Exp", "Sin", "Cos", "Tan", "Atan", "Tanh", "Sigmoid", "Softplus", "Softsign", "Sinh", "Cosh", "Asinh", "Abs",
           "LeakyRelu", "Elu", "Softmax", "LogSoftmax", "Transpose", "Flatten"):
    one(op, {"x": real(2, 3)})
for op in ("Log", "Sqrt", "Reciprocal"):
    one(op, {"x": positive(2, 3)})
for op in ("Asin", "Acos", "Atanh"):
    one(op, {"x": share(2, 3)})
one("Acosh", {"x": 1 + positive(2, 3)})
for op in ("Erf", "Gelu"):  # the reference rounds them to float
    check(op, [helper.make_node(op, ["x"], ["y"])], {"x": real(2, 3)}, ["x"], tolerance=2e-3, step=1e-3)
one("Softmax", {"x": real(2, 3, 4)}, axis=1)
one("LogSoftmax", {"x": real(2, 3, 4)}, axis=0)
one("Transpose", {"x": real(2, 3, 4)}, perm=[1, 2, 0])

# Two operands of one shape, broadcast one way, the other, both.
for a, b in (((2, 3), (2, 3)), ((2, 3), (3,)), ((1,), (2, 3)), ((2, 1), (1, 3)), ((), (2, 3)), ((2, 0), (1,))):
    for op in ("Add", "Sub", "Mul", "Div", "Max", "Min"):
        one(op, {"a": positive(*a), "b": positive(*b)}, label="%s %s %s" % (op, a, b))
    one("Pow", {"a": positive(*a), "b": positive(*b)}, label="Pow %s %s" % (a, b))
one("Sum", {"a": real(2, 3), "b": real(3), "c": real(1, 1)})
one("Mean", {"a": real(2, 3), "b": real(3), "c": real(1, 1)})
check("Mul of itself", [helper.make_node("Mul", ["x", "x"], ["y"])], {"x": real(3)}, ["x"])
check("Where", [helper.make_node("Greater", ["a", "b"], ["c"]), helper.make_node("Where", ["c", "a", "b"], ["y"])], {"a": real(2, 3), "b": real(3)}, ["a", "b"])
one("Clip", {"x": real(9)}, constants={"lo": np.array(-0.5), "hi": np.array(0.5)})

for a, b in (((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (6, 3, 1))):
    one("MatMul", {"a": real(*a), "b": real(*b)}, label="MatMul %s %s" % (a, b))
for ta in (0, 1):
    for tb in (0, 1):
        one("Gemm", {"a": real(2, 3).T if ta else real(2, 3), "b": real(3, 4).T if tb else real(3, 4), "c": real(4)}, alpha=0.5, beta=2.0, transA=ta, transB=tb,
            label="Gemm %d%d" % (ta, tb))
for attrs in (dict(), dict(strides=[2, 2]), dict(pads=[1, 0, 2, 1]), dict(dilations=[2, 1]), dict(strides=[3, 2], pads=[1, 1, 1, 1], dilations=[1, 2])):
    one("Conv", {"x": real(2, 2, 7, 6), "w": real(3, 2, 3, 2), "b": real(3)}, label="Conv %s" % attrs, **attrs)
one("Conv", {"x": real(1, 4, 5), "w": real(2, 2, 3)}, by=["x"], group=2, label="Conv of groups")
one("GlobalAveragePool", {"x": real(2, 3, 4, 5)})

one("Reshape", {"x": real(2, 6)}, constants={"s": whole(3, 4)})
one("Unsqueeze", {"x": real(2, 3)}, constants={"s": whole(0, -1)})
one("Expand", {"x": real(3, 1)}, constants={"s": whole(2, 3, 4)})
for keep in (0, 1):
    for op in ("ReduceSum", "ReduceMean"):
        one(op, {"x": real(2, 3, 4)}, constants={"axes": whole(0, -1)}, keepdims=keep, label="%s %d" % (op, keep))
        one(op, {"x": real(2, 3)}, keepdims=keep, label="%s of all %d" % (op, keep))
check("Concat", [helper.make_node("Concat", ["a", "b"], ["y"], axis=-1)], {"a": real(2, 3), "b": real(2, 1)}, ["a", "b"])
check("Split", [helper.make_node("Split", ["x", "s"], ["p", "q"], axis=1), helper.make_node("Mul", ["q", "q"], ["y"])], {"x": real(2, 5)}, ["x"], {"s": whole(2, 3)})
one("Gather", {"x": real(4, 3)}, constants={"i": whole(1, -1, 1)})
check("Cast", [helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT), helper.make_node("Cast", ["f"], ["y"], to=F64)], {"x": real(3)}, ["x"], tolerance=1)

mlp = [helper.make_node("MatMul", ["x", "w1"], ["h1"]), helper.make_node("Add", ["h1", "b1"], ["h2"]), helper.make_node("Tanh", ["h2"], ["h3"]),
       helper.make_node("MatMul", ["h3", "w2"], ["h4"]), helper.make_node("LogSoftmax", ["h4"], ["y"], axis=-1)]
layers = {"x": real(5, 4), "w1": real(4, 6), "b1": real(6), "w2": real(6, 3)}
check("two layers", mlp, layers, ["w1", "b1", "w2"])

# The derivative by a value on the way, at another value than the model's, of a derivative, and of what does not depend.
d = lambda ins, outs, xs, y, zs=None: helper.make_node("Gradient", ins, outs, domain=TRAINING, xs=xs, y=y, **({"zs": zs} if zs else {}))
x, w = real(3), real(3)
square = [helper.make_node("Mul", ["x", "w"], ["h"]), helper.make_node("Mul", ["h", "h"], ["y"])]


def value(label, nodes, outs, *want):
    got = ours(model(nodes, {"x": x, "w": w}, outs, {}), {"x": x, "w": w})
    for o, v in zip(outs, want):
        say(got[o].shape == v.shape and np.allclose(got[o], v, rtol=1e-12, atol=1e-12), label, o)


value("by a value on the way", square + [d(["h"], ["dh"], ["h"], "y")], ["dh"], 2 * x * w)
value("at another place", square + [d(["w", "w"], ["dx"], ["x"], "y", ["w"])], ["dx"], 2 * w * w * w)
value("two at one place", square + [d(["w", "w"], ["dx", "dw"], ["x", "w"], "y")], ["dx", "dw"], 2 * w**3, 2 * w**3)
value("of a derivative", square + [d(["x"], ["dx"], ["x"], "y", ["w"][:0]), d(["x", "w"], ["dxx", "dxw"], ["x", "w"], "dx")], ["dx", "dxx", "dxw"], 2 * x * w * w, 2 * w * w, 4 * x * w)
value("only the second", square + [d(["x", "w"], ["", "dw"], ["x", "w"], "y")], ["dw"], 2 * x * x * w)
value("of what does not depend", square + [d(["w", "x"], ["dw", "dx"], ["w", "x"], "x")], ["dw", "dx"], np.zeros(3), np.ones(3))
second = mlp[:4] + [helper.make_node("Mul", ["h4", "h4"], ["q"]), helper.make_node("ReduceSum", ["q"], ["loss"], keepdims=0), d(["x", "w1"], ["dx", "dw"], ["x", "w1"], "loss")]
got = ours(model(second + [helper.make_node("ReduceSum", ["dx"], ["sum"], keepdims=0), d(["w1"], ["dd"], ["w1"], "sum")], layers, ["dd"], {}), layers)["dd"]
first = model(second, layers, ["dx"], {})
for at in ((0, 0), (1, 5), (3, 2)):
    sides = []
    for sign in (1, -1):
        moved = {n: a.copy() for n, a in layers.items()}
        moved["w1"][at] += sign * 1e-6
        sides.append(ours(first, moved)["dx"].sum())
    want = (sides[0] - sides[1]) / 2e-6
    say(abs(got[at] - want) < 1e-5 * max(1, abs(want)), "second derivative through two layers", "error %.2g" % abs(got[at] - want))


def refused(label, text, nodes, gradient):
    try:
        ours(model(nodes + [gradient], {"x": x, "w": w}, ["dx"], {}), {"x": x, "w": w})
        say(False, label, "is not refused")
    except Exception as e:
        say(text in str(e), label, str(e)[:160])


refused("no rule", "through node 'sum up' (cumsum)", [helper.make_node("Constant", [], ["zero"], value_int=0), helper.make_node("CumSum", ["x", "zero"], ["y"], name="sum up")], d(["x"], ["dx"], ["x"], "y"))
refused("no such value", "'nothing' is not defined", [], d(["x"], ["dx"], ["x"], "nothing"))
refused("names and inputs", "1 inputs for 2 names", square, d(["x"], ["dx"], ["x", "w"], "y"))
sys.exit(1 if failed else 0)
