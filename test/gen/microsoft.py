"""Recipes: operators of com.microsoft."""
import numpy as np
from onnx import TensorProto

from draw import MICROSOFT, recipe
from text import words

F32, I32, I64, U8 = TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.UINT8


def ms(*names, types=("float",), outputs=None):
    return recipe(*names, domain=MICROSOFT, types=list(types), outputs=outputs)


def reals(g, *shape, const=None):
    return g.add(g.values(shape, F32), F32, const)


def held(g, value, dtype):
    """A constant of the file in its own type, also where numpy lacks it."""
    name = "x%d" % len(g.operands)
    g.constants[name], g.input_types[name] = value, dtype
    g.operands.append(name)


def scalar(g, value, dtype, const=True):
    return g.add(np.array(value, "f4" if dtype == F32 else "u1" if dtype == U8 else "i1"), dtype, const)


@ms("Gelu", "QuickGelu")
def gelu(g):
    g.x(special=False)
    if g.op == "QuickGelu":
        g.maybe(alpha=g.pick([1.0, 1.702, 0.5]))
    g.tolerance = 8


@ms("BiasGelu", "FastGelu")
def bias_gelu(g):
    x = g.x(rank=(1, 3), least=1)
    if g.op == "BiasGelu" or g.flip():
        reals(g, x.shape[-1])
    g.tolerance = 2000 if g.op == "FastGelu" else 8


def skip_norm(g, betas):
    shape = (g.dim(1, 3), g.dim(1, 4), g.pick([1, 4, 8]))
    g.x(shape)
    reals(g, *g.pick([shape, shape]))
    reals(g, shape[-1])
    for _ in range(betas):
        reals(g, shape[-1]) if g.flip() else g.skip()
    g.maybe(epsilon=g.pick([1e-5, 0.01]))
    g.tolerance = 64


@ms("SkipLayerNormalization")
def skip_layer_norm(g):
    skip_norm(g, 2)


@ms("SkipSimplifiedLayerNormalization")
def skip_rms_norm(g):
    skip_norm(g, 1)


@ms("EmbedLayerNormalization")
def embed(g):
    b, s, c = g.int(1, 3), g.int(1, 4), g.pick([4, 8])
    segments = g.flip()
    g.add(g.values((b, s), I32, 0, 9), I32)
    g.add(g.values((b, s), I32, 0, 1), I32) if segments else g.skip()
    reals(g, 10, c, const=True)
    reals(g, 5, c, const=True)
    reals(g, 2, c, const=True) if segments else g.skip()
    reals(g, c, const=True)
    reals(g, c, const=True)
    if g.flip():
        g.add(g.values((b, s), I32, 0, 1), I32)
    g.maybe(epsilon=g.pick([1e-5, 0.01]))
    g.outputs = 2
    g.tolerance = 64


def key_mask(g, *shape):
    """At least one key is seen: -10000 is added to the others, where a float has three digits left."""
    mask = g.values(shape, I32, 0, 1)
    mask[..., 0] = 1
    g.add(mask, I32)


@ms("Attention")
def attention(g):
    b, s, heads, size = g.int(1, 3), g.int(1, 5), g.int(1, 3), g.pick([2, 4])
    hidden, width = heads * size, g.pick([4, 6])
    g.x((b, s, width))
    reals(g, width, 3 * hidden)
    reals(g, 3 * hidden)
    past = g.pick([None, None, g.int(1, 4)])
    total = s + (past or 0)
    kind = g.int(0, 3)
    if kind == 1:
        key_mask(g, b, total)
    elif kind == 2 and not past:
        g.add(g.values((b,), I32, 1, s), I32)
    elif kind == 3:
        key_mask(g, b, s, total)
    else:
        g.skip()
    if past:
        reals(g, 2, b, heads, past, size)
    else:
        g.skip()
    if g.flip(0.3):
        reals(g, g.pick([1, b]), g.pick([1, heads]), s, total)
    g.attr(num_heads=heads)
    g.maybe(unidirectional=g.int(0, 1))
    g.maybe(scale=0.3)
    g.outputs = 2 if past else g.int(1, 2)
    g.tolerance = 16


@ms("MultiHeadAttention")
def multi_head(g):
    b, s, heads, size, value = g.int(1, 3), g.int(1, 5), g.int(1, 3), g.pick([2, 4]), g.pick([2, 4])
    causal = g.int(0, 1)
    kv = s if causal else g.int(1, 6)  # causal is for self-attention: ONNX Runtime shows all keys to the last query
    past = g.pick([None, None, g.int(1, 3)])
    g.x((b, s, heads * size))
    reals(g, b, kv, heads * size)
    reals(g, b, kv, heads * value)
    reals(g, heads * (2 * size + value)) if g.flip() else g.skip()
    total = kv + (past or 0)
    kind = g.int(0, 2)
    key_mask(g, b, total) if kind == 1 else g.skip()
    reals(g, g.pick([1, b]), g.pick([1, heads]), s, total) if g.flip(0.3) else g.skip()
    if past:
        reals(g, b, heads, past, size)
        reals(g, b, heads, past, value)
    g.attr(num_heads=heads)
    g.maybe(scale=0.3)
    g.attr(unidirectional=causal)
    g.outputs = 3 if past else g.pick([1, 3])
    g.tolerance = 16


@ms("GroupQueryAttention")
def group_query(g):
    b, kv_heads, group, size = g.int(1, 3), g.int(1, 2), g.int(1, 3), g.pick([8, 16])
    prompt = g.flip()
    s = g.int(1, 5) if prompt else 1
    past = 0 if prompt else g.int(1, 5)
    heads, total = kv_heads * group, s + past
    if g.flip(0.7):
        g.x((b, s, heads * size))
        reals(g, b, s, kv_heads * size)
        reals(g, b, s, kv_heads * size)
    else:
        g.x((b, s, (heads + 2 * kv_heads) * size))
        g.skip()
        g.skip()
    reals(g, b, kv_heads, past, size)
    reals(g, b, kv_heads, past, size)
    g.add(np.full(b, total - 1, "i4"), I32)
    g.add(np.array(total, "i4"), I32)
    if g.flip():
        rows = total + g.int(0, 3)
        for _ in range(2):
            reals(g, rows, size // 2)
        g.attr(do_rotary=1, rotary_interleaved=g.int(0, 1))
    g.attr(num_heads=heads, kv_num_heads=kv_heads)
    if g.flip(0.3):
        g.attr(causal=0)
    else:
        g.maybe(local_window_size=g.int(1, 4))
    g.maybe(scale=0.3)
    g.maybe(softcap=2.0)
    g.outputs = 3
    g.tolerance = 16


@ms("RotaryEmbedding")
def rotary(g):
    b, s, heads, size = g.int(1, 3), g.int(1, 4), g.int(1, 3), g.pick([4, 8])
    rows = s + g.int(0, 4)
    g.x((b, s, heads * size) if g.flip() else (b, heads, s, size))
    if g.flip():
        g.add(np.array([g.int(0, rows - s)]), I64)
    else:
        g.add(g.values((b, s), I64, 0, rows - 1), I64)
    for _ in range(2):
        reals(g, rows, size // 2)
    g.maybe(interleaved=g.int(0, 1))


@ms("FusedMatMul", "TransposeMatMul")
def fused_matmul(g):
    m, k, n = g.dim(1), g.dim(1), g.dim(1)
    batch = g.dims((0, 2), 1)
    ta, tb = g.int(0, 1), g.int(0, 1)
    reals(g, *batch, *((k, m) if ta else (m, k)))
    reals(g, *batch, *((n, k) if tb else (k, n)))
    g.maybe(transA=ta) if not ta else g.attr(transA=ta)
    g.maybe(transB=tb) if not tb else g.attr(transB=tb)
    g.maybe(alpha=g.pick([1.0, 0.5, -2.0]))


@ms("FusedConv")
def fused_conv(g):
    c, m = g.int(1, 3), g.int(1, 4)
    kernel = [g.int(1, 3), g.int(1, 3)]
    x = g.x((g.int(1, 2), c, g.int(3, 7), g.int(3, 7)))
    reals(g, m, c, *kernel)
    if g.flip():
        reals(g, m)
    act, params = g.pick([("Relu", None), ("Tanh", None), ("Sigmoid", None), ("LeakyRelu", [0.25]), ("Clip", [-0.5, 0.75]), ("HardSigmoid", [0.25, 0.5])])
    g.attr(activation=act, activation_params=params, kernel_shape=kernel)
    g.maybe(pads=[g.int(0, k - 1) for k in kernel] + [g.int(0, k - 1) for k in kernel])
    g.maybe(strides=[g.int(1, 2), g.int(1, 2)])
    g.tolerance = 8


@ms("MatMulNBits")
def matmul_nbits(g):
    bits, block = g.pick([2, 4, 8]), g.pick([16, 32, 64])
    k, n = g.pick([16, 32, 48, 64, 100]), g.int(1, 9)
    blocks = -(-k // block)
    g.x(g.dims((0, 2), 1) + (g.int(1, 5), k))
    bytes_of = lambda *shape: g.add(g.rng.integers(0, 256, shape).astype("u1"), U8, True)
    bytes_of(n, blocks, block * bits // 8)
    reals(g, n, blocks, const=True)
    kind = g.int(0, 2)
    if kind == 1:
        bytes_of(n, -(-blocks * bits // 8))
    elif kind == 2 and bits < 8:
        reals(g, n, blocks, const=True)
    else:
        g.skip()
    if g.flip(0.4):
        g.skip()
        reals(g, n, const=True)
    g.attr(K=k, N=n, bits=bits, block_size=block)
    g.tolerance = 64


@ms("GatherBlockQuantized", types=("uint8", "int4", "uint4"))
def gather_blocks(g):
    block = g.pick([16, 32])
    if g.t == U8:
        bits, rows, columns = g.pick([2, 4, 8]), g.int(1, 6), g.int(1, 3)
        per = 8 // bits
        g.add(g.rng.integers(0, 256, (rows, columns * block // per)).astype("u1"), U8, True)
        shape, scales = (rows,), (rows, columns)
        g.attr(bits=bits, quantize_axis=g.pick([1, -1]), gather_axis=0)
        zeros = (rows, -(-columns * bits // 8))
        at = 0
    else:
        shape = list(g.dims((1, 3), 1, 5))
        axis = g.int(0, len(shape) - 1)
        shape[axis] = g.pick([5, 16, 20, 33])
        at = g.int(0, len(shape) - 1)
        scales = zeros = tuple(-(-d // block) if i == axis else d for i, d in enumerate(shape))
        held(g, g.values(shape, g.t), g.t)
        g.attr(quantize_axis=g.pick([axis, axis - len(shape)]), gather_axis=g.pick([at, at - len(shape)]))
    size = shape[at]
    kind = g.pick([I64, I32])
    g.add(g.values(g.dims((0, 2), 1), kind, -size, size - 1), kind)
    reals(g, *scales, const=True)
    if g.flip():
        held(g, g.rng.integers(0, 256, zeros).astype("u1") if g.t == U8 else g.values(zeros, g.t), g.t)
    g.attr(block_size=block)


def quantised(g, shape, const=False):
    g.add(g.rng.integers(*((0, 256) if g.t == U8 else (-128, 128)), shape).astype("u1" if g.t == U8 else "i1"), g.t, const)


def scale_and_zero(g, scale=None):
    scalar(g, scale or g.pick([0.02, 0.05, 0.1]), F32)
    scalar(g, g.int(0, 200) if g.t == U8 else g.int(-60, 60), g.t)


@ms("QLinearAdd", "QLinearMul", types=("uint8", "int8"))
def qlinear_binary(g):
    for shape in g.broadcast(2, (1, 3), 1):
        quantised(g, shape)
        scale_and_zero(g)
    scale_and_zero(g, 0.2)


@ms("QLinearSigmoid", "QLinearLeakyRelu", types=("uint8", "int8"))
def qlinear_unary(g):
    quantised(g, g.dims((1, 3), 1))
    scale_and_zero(g)
    scale_and_zero(g, 1 / 256 if g.op == "QLinearSigmoid" else None)
    if g.op == "QLinearLeakyRelu":
        g.maybe(alpha=g.pick([0.1, 0.5]))


@ms("QLinearSoftmax", types=("uint8", "int8"))
def qlinear_softmax(g):
    shape = g.dims((1, 3), 1)
    quantised(g, shape)
    scale_and_zero(g)
    scale_and_zero(g, 1 / 256)
    g.attr(opset=g.pick([12, 13]))
    g.maybe(axis=g.int(-len(shape), len(shape) - 1))


@ms("QLinearGlobalAveragePool", types=("uint8", "int8"))
def qlinear_global_pool(g):
    quantised(g, g.dims(4, 1, 5))
    scale_and_zero(g)
    scale_and_zero(g)
    g.maybe(channels_last=g.int(0, 1))


@ms("QLinearAveragePool", types=("uint8", "int8"))
def qlinear_pool(g):
    quantised(g, (g.int(1, 2), g.int(1, 3), g.int(3, 6), g.int(3, 6)))
    scale_and_zero(g)
    scale_and_zero(g)
    kernel = [g.int(1, 3), g.int(1, 3)]
    g.attr(kernel_shape=kernel, strides=[g.int(1, 2), g.int(1, 2)])
    g.maybe(pads=[g.int(0, k - 1) for k in kernel] * 2)
    g.maybe(count_include_pad=g.int(0, 1))


@ms("NhwcMaxPool", types=("uint8", "int8"))
def nhwc_max_pool(g):
    quantised(g, (g.int(1, 2), g.int(3, 6), g.int(3, 6), g.int(1, 3)))
    kernel = [g.int(1, 3), g.int(1, 3)]
    g.attr(kernel_shape=kernel, strides=[g.int(1, 2), g.int(1, 2)])
    g.maybe(pads=[g.int(0, k - 1) for k in kernel] * 2)


@ms("QLinearConcat", types=("uint8", "int8"))
def qlinear_concat(g):
    scale_and_zero(g)
    shape = list(g.dims((1, 3), 1))
    axis = g.int(0, len(shape) - 1)
    for _ in range(g.int(1, 3)):
        shape[axis] = g.dim(1)
        quantised(g, shape)
        scale_and_zero(g)
    g.attr(axis=g.pick([axis, axis - len(shape)]))


@ms("QuantizeLinear", types=("uint8", "int8", "uint16", "int16"))
def quantize(g):
    x = g.add(g.values(g.dims((1, 3), 1), F32, -9, 9), F32)
    per_axis = g.flip()
    axis = g.int(0, x.ndim - 1)
    shape = (x.shape[axis],) if per_axis else ()
    g.add(g.rng.uniform(0.05, 0.2, shape).astype("f4"), F32, True)
    g.add(g.values(shape, g.t, 0, 9), g.t, True)
    if per_axis:
        g.attr(axis=axis)


@ms("DequantizeLinear", types=("uint8", "int8", "uint16", "int16", "int32"))
def dequantize(g):
    x = g.add(g.values(g.dims((1, 3), 1), g.t), g.t)
    per_axis = g.flip()
    axis = g.int(0, x.ndim - 1)
    shape = (x.shape[axis],) if per_axis else ()
    g.add(g.rng.uniform(0.05, 0.2, shape).astype("f4"), F32, True)
    if g.t != I32:
        g.add(g.values(shape, g.t, 0, 9), g.t, True)
    if per_axis:
        g.attr(axis=axis)


@ms("Tokenizer", types=("string",))
def tokenizer(g):
    n = g.int(1, 4)
    x = words(g, (n,) if g.flip() else (n, g.int(1, 3)), letters="ab c,;é", most=9)
    g.x(value=x)
    how = g.int(0, 3)
    if how == 0:
        g.attr(separators=[""])
    elif how == 1:
        g.attr(tokenexp=".")
    elif how == 2:
        g.attr(separators=[g.pick([" ", ",", ";", "a", "[, ]", " +", "ab|a", "b*"]) for _ in range(g.int(1, 3))])
    else:
        g.attr(tokenexp=g.pick(["[a-z]+", "a|ab", "a*", "[^ ]+", r"\w+", r"\bb", "é", "(a|b)(b|c)?"]))
    g.attr(mark=g.int(0, 1), pad_value=g.pick(["#", ""]), mincharnum=g.int(1, 3) if how > 1 else 1)
