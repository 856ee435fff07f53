"""Recipes: quantized operators of the standard."""
import numpy as np
from onnx import TensorProto

from draw import FLOATS, INTS, NAMES, SMALL_FLOATS, UNSIGNED, WORDS, Illegal, recipe
from network import window


def scale_shape(g, x):
    """(shape of the scale, axis, block) of a quantization: per tensor, per axis, or blocked."""
    how = g.int(0, 2 if g.v >= 21 else 1 if g.v >= 13 else 0)
    if how == 0 or x.ndim == 0:
        return (), None, None
    axis = g.axis(x.ndim)
    if how == 1:
        return (x.shape[axis],), axis, None
    shape, block = list(x.shape), g.int(1, 3)
    shape[axis] = -(-shape[axis] // block)
    return tuple(shape), axis, block


def settle(g, axis, block):
    if axis is not None:
        g.attr(axis=axis)
    if block:
        g.attr(block_size=block)


def zero_point(g, shape, t):
    if t in SMALL_FLOATS or t == TensorProto.INT32 or t in INTS and WORDS[t] in ("int32", "uint32"):
        g.x(value=np.zeros(shape), dtype=t)
    else:
        g.x(shape, low=0, high=1 if "2" == WORDS[t][-1] else 3, dtype=t)


@recipe("QuantizeLinear")
def quantize(g):
    x = g.x(rank=(0, 4), least=1, low=-4, high=4)
    shape, axis, block = scale_shape(g, x)
    # Powers of two, so that no product lies next to a tie.
    out = "T3" if g.v >= 23 else "T2"
    if g.v >= 23:
        g.bound["T2"] = NAMES["float8e8m0"] if "float8e8m0" in g.words_of("T2") and g.flip(0.1) else g.bound["T1"]
    g.x(value=2.0 ** g.rng.integers(-3, 1, shape))
    t = NAMES[g.pick(g.words_of(out))]
    if g.v >= 21 and g.flip(0.3):
        g.attr(output_dtype=t)
        g.bound[out] = t
    elif g.flip(0.3):
        g.bound[out] = TensorProto.UINT8
    else:
        g.bound[out] = t
        zero_point(g, shape, t)
    settle(g, axis, block)


@recipe("DequantizeLinear")
def dequantize(g):
    t = g.t_first()
    x = g.x(rank=(0, 4), least=1)
    shape, axis, block = scale_shape(g, x)
    g.x(shape, low=0.1, high=2)
    if g.flip(0.7):
        zero_point(g, shape, t)
    if g.v >= 23:
        words = [NAMES[w] for w in g.words_of("T3")]
        g.bound["T3"] = g.bound["T2"]
        if g.bound["T2"] not in words or g.flip(0.3):
            g.bound["T3"] = g.pick(words)
            g.attr(output_dtype=g.bound["T3"])
    settle(g, axis, block)


@recipe("DynamicQuantizeLinear")
def dynamic_quantize(g):
    g.x(rank=(1, 3), least=1)
    g.outputs = 3


@recipe("MatMulInteger")
def matmul_integer(g):
    m, k, n = g.dim(), g.dim(), g.dim()
    a, b = g.broadcast(2, (0, 2))
    g.x(a + (m, k), low=-100, high=100)
    g.x(b + (k, n), low=-100, high=100)
    g.x((), low=0, high=5) if g.flip() else g.skip()
    if g.flip():
        g.x(g.pick([(), (n,)]), low=0, high=5)


@recipe("QLinearMatMul")
def qlinear_matmul(g):
    m, k, n = g.dim(1), g.dim(1), g.dim(1)
    a, b = g.broadcast(2, (0, 2), 1)
    g.x(a + (m, k), low=-50, high=50)
    g.x((), value=0.0625)
    g.x((), low=0, high=5)
    g.x(b + (k, n), low=-50, high=50)
    columns = g.pick([(), (n,)]) if len(b) == 0 else ()
    g.x(value=np.full(columns, 0.125))
    g.x(columns, low=0, high=5)
    g.x((), value=g.pick([0.5, 2.0]))
    g.x((), low=0, high=5)


def convolution(g):
    image = g.dims(g.pick([1, 2, 2]), 3, 7)
    kernel = window(g, image)
    group, per = g.pick([1, 1, 2]), g.int(1, 2)
    out = group * g.int(1, 2)
    g.maybe(kernel_shape=kernel)
    if group > 1:
        g.attr(group=group)
    return (g.dim(1, 2), group * per) + image, (out, per) + tuple(kernel), out


@recipe("ConvInteger")
def conv_integer(g):
    x, w, out = convolution(g)
    g.x(x, low=-100, high=100)
    g.x(w, low=-100, high=100)
    g.x((), low=0, high=5) if g.flip() else g.skip()
    if g.flip():
        g.x(g.pick([(), (out,)]), low=0, high=5)


@recipe("QLinearConv")
def qlinear_conv(g):
    x, w, out = convolution(g)
    g.x(x, low=-50, high=50)
    g.x((), value=0.0625)
    g.x((), low=0, high=5)
    rows = g.pick([(), (out,)])
    g.x(w, low=-50, high=50)
    g.x(value=np.full(rows, 0.125))
    g.x(value=np.zeros(rows) if rows else 0)
    g.x((), value=g.pick([0.5, 2.0]))
    g.x((), low=0, high=5)
    if g.flip():
        g.x((out,), low=-50, high=50)
