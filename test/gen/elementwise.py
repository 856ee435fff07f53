"""Recipes: one output element per input element."""
import numpy as np
from onnx import TensorProto, helper

from draw import CARRIER, FLOATS, INTS, NAMES, UNSIGNED, Illegal, recipe


@recipe("Abs", "Ceil", "Cos", "Erf", "Exp", "Floor", "HardSwish", "IsNaN", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu",
        "Round", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "BitwiseNot", "Asinh", "Atan",
        "Identity")
def unary(g):
    if g.op == "Log" and g.flip(0.7) or g.op == "Sqrt" and g.flip(0.7):
        g.x(low=0.01, high=9)
    elif g.op in ("Sin", "Cos", "Tan"):
        g.x(low=-9, high=9)
    else:
        g.x(special=True)


@recipe("Acos", "Asin", "Atanh")
def inverse(g):
    g.x(low=-1, high=1)


@recipe("Sinh", "Cosh")
def hyperbolic(g):
    g.x(low=-5, high=5)


@recipe("Acosh")
def acosh(g):
    g.x(low=1, high=9)


@recipe("Elu", "Celu", "LeakyRelu", "ThresholdedRelu")
def with_alpha(g):
    g.x()
    g.maybe(alpha=g.pick([0.01, 0.5, 1.0, 2.0]))


@recipe("Selu")
def selu(g):
    g.x()
    g.maybe(alpha=1.5)
    g.maybe(gamma=0.7)


@recipe("HardSigmoid")
def hard_sigmoid(g):
    g.x()
    g.maybe(alpha=0.3)
    g.maybe(beta=0.6)


@recipe("Gelu")
def gelu(g):
    g.x()
    g.maybe(approximate=g.pick(["none", "tanh"]))


@recipe("Swish")
def swish(g):
    g.x()
    g.maybe(alpha=g.pick([0.5, 1.0, 1.7]))


@recipe("SwiGLU")
def swiglu(g):
    a = g.x()
    g.x(a.shape)
    g.maybe(alpha=1.25)


@recipe("Shrink")
def shrink(g):
    g.x()
    g.maybe(bias=g.pick([0.0, 0.25, 1.0]))
    g.maybe(lambd=g.pick([0.0, 0.5, 1.0]))


@recipe("IsInf")
def is_inf(g):
    g.x(special=True)
    g.maybe(detect_negative=g.int(0, 1))
    g.maybe(detect_positive=g.int(0, 1))


@recipe("Add", "Sub", "Mul")
def arithmetic(g):
    a, b = g.broadcast(2)
    special = g.flip(0.3)
    g.x(a, special=special)
    g.x(b, special=special)


@recipe("Div")
def div(g):
    a, b = g.broadcast(2)
    if g.bound["T"] in FLOATS:
        g.x(a)
        g.x(b, special=g.flip(0.3))
        return
    g.x(a, special=g.flip(0.3))
    shape = g.values(b, g.bound["T"], 1, 9)
    g.x(value=shape if g.bound["T"] in UNSIGNED or g.flip() else -shape)


@recipe("Mod")
def mod(g):
    t = g.bound["T"]
    a, b = g.broadcast(2)
    if t in INTS:
        g.maybe(fmod=g.int(0, 1))
    else:
        g.attr(fmod=1)
    g.x(a)
    divisor = g.values(b, t, 1, 9)
    g.x(value=-divisor if t not in UNSIGNED and g.flip() else divisor)


@recipe("Pow")
def power(g):
    a, b = g.broadcast(2)
    t = g.bound["T"]
    if g.v >= 12:
        words = g.words_of("T1")
        g.bound["T1"] = NAMES[g.pick(words)]
    t1 = g.bound.get("T1", t)
    if t in INTS:
        g.x(a, low=-4, high=4)
        g.x(value=np.round(np.asarray(g.values(b, TensorProto.DOUBLE, 0, 4))))
    elif t1 in INTS or g.flip(0.3):
        g.x(a, low=-3, high=3)
        g.x(value=np.round(np.asarray(g.values(b, TensorProto.DOUBLE, 0 if t1 in UNSIGNED else -3, 4))))
    else:
        g.x(a, low=0.1, high=4)
        g.x(b, low=-3, high=3)


@recipe("And", "Or", "Xor", "Equal", "Greater", "Less", "GreaterOrEqual", "LessOrEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor")
def compare(g):
    a, b = g.broadcast(2)
    special = g.flip(0.4)
    low, high = (None, None) if special or g.flip() else (-2, 2)
    g.x(a, low, high, special=special) if False else g.x(a, low=low, high=high, special=special)
    g.x(b, low=low, high=high, special=special)


@recipe("BitShift")
def bit_shift(g):
    a, b = g.broadcast(2)
    x = g.x(a, special=True)
    g.x(b, low=0, high=x.dtype.itemsize * 8 - 1)
    g.attr(direction=g.pick(["LEFT", "RIGHT"]))


@recipe("PRelu")
def prelu(g):
    x = g.x(rank=(1, 4))
    g.x(g.narrowed(x.shape))


@recipe("Min", "Max", "Sum", "Mean")
def variadic(g):
    shapes = g.broadcast(g.int(1, 4)) if g.v >= 8 else [g.dims((0, 4))] * g.int(1, 4)
    special = g.op in ("Min", "Max") and g.flip(0.3)
    for s in shapes:
        g.x(s, special=special)


@recipe("Clip")
def clip(g):
    g.x()
    if g.v < 11:
        g.maybe(min=-1.0)
        g.maybe(max=g.pick([0.5, 2.0]))
        return
    low = 1 if g.bound["T"] in UNSIGNED else -1
    for bound in (low, g.pick([low, 2, 5])):
        g.skip() if g.flip(0.3) else g.x((), value=bound)


@recipe("Where")
def where(g):
    c, a, b = g.broadcast(3)
    g.x(c)
    g.x(a)
    g.x(b)


def cast_values(g, to, shape):
    """Values whose conversion the standard defines."""
    src = g.operand_type
    if src == TensorProto.STRING:
        if to in FLOATS or to in CARRIER and CARRIER[to] == TensorProto.FLOAT:
            words = ["1", "-2.5", "1e3", "0", "inf", "NaN", "-INF", "7e-2"]
        elif to == TensorProto.BOOL or to == TensorProto.STRING:
            raise Illegal("string to bool")
        else:
            words = ["0", "1", "3"]
        return np.array([g.pick(words) for _ in range(int(np.prod(shape)))], dtype=object).reshape(shape)
    if to in INTS and src not in INTS and src != TensorProto.BOOL:
        top = {"int2": 1, "uint2": 3, "int4": 7, "uint4": 15}.get(word(to), 100)
        return g.values(shape, src, 0 if to in UNSIGNED else -min(top, 8 if top > 3 else 1), top)
    if to == NAMES["float8e8m0"]:  # negative ones are not defined
        return g.values(shape, src, 0 if src in UNSIGNED else 1, 9)
    return g.values(shape, src, special=src in INTS or to in FLOATS)


def word(dtype):
    from draw import WORDS
    return WORDS[dtype]


@recipe("Cast", "CastLike")
def cast(g):
    source, target = ("T1", "T2")
    g.operand_type = g.bound[source]
    to = NAMES[g.pick(g.words_of(target))]
    if g.operand_type == TensorProto.STRING and to in (INTS | {TensorProto.STRING, TensorProto.BOOL}) and False:
        raise Illegal("")
    g.bound[target] = to
    shape = g.dims((0, 4))
    saturate = g.int(0, 1)
    g.add(cast_values(g, to, shape), g.operand_type)
    if g.op == "CastLike":
        g.x(rank=(0, 1))
    else:
        g.attr(to=to)
    if g.v >= 19 and word(to).startswith("float8") and to != NAMES["float8e8m0"]:
        g.maybe(saturate=saturate)
    if g.v >= 24 and to == NAMES["float8e8m0"]:
        g.maybe(round_mode=g.pick(["up", "down", "nearest"]))


@recipe("BitCast")
def bit_cast(g):
    t = g.bound["T1"]
    size = {"int2": 2, "uint2": 2, "int4": 4, "uint4": 4, "float4e2m1": 4}
    bits = lambda w: size.get(w) or (8 if w == "bool" else helper.tensor_dtype_to_np_dtype(NAMES[w]).itemsize * 8)
    words = [w for w in g.words_of("T2") if w != "string" and bits(w) == bits(word(t))]
    if not words:
        raise Illegal("no type of this width")
    to = NAMES[g.pick(words)]
    g.bound["T2"] = to
    g.x(value=g.rng.integers(0, 2, g.dims((0, 4)))) if to == TensorProto.BOOL else g.x()
    g.attr(to=to)


@recipe("Dropout")
def dropout(g):
    g.x()
    if g.v < 12:
        g.maybe(ratio=0.3)
        g.outputs = 1
        return
    g.maybe(seed=3)
    if g.flip():
        g.x((), low=0, high=0.9)
        if g.flip():
            g.x((), value=False)
    g.outputs = g.int(1, 2)
