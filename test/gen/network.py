"""Recipes: convolutions, pooling, products, norms, recurrences, attention, resizing, losses."""
import numpy as np
from onnx import TensorProto, helper

from draw import FLOATS, INTS, NAMES, UNSIGNED, Illegal, recipe

I64 = TensorProto.INT64


def window(g, image, dilated=True, ceil=False):
    """kernel, and sets strides, pads, dilations, auto_pad so that at least one window fits."""
    n = len(image)
    kernel = [g.int(1, 3) for _ in range(n)]
    strides = [g.int(1, 3) for _ in range(n)]
    dilations = [g.int(1, 2) if dilated else 1 for _ in range(n)]
    mode = g.pick(["NOTSET", "NOTSET", "pads", "SAME_UPPER", "SAME_LOWER", "VALID"])
    pads = [0] * 2 * n
    if mode == "pads":
        pads = [g.int(0, kernel[i % n] - 1) for i in range(2 * n)]
        g.attr(pads=pads)
    elif mode != "NOTSET":
        if "SAME" in mode:
            dilations = [1] * n
        g.attr(auto_pad=mode)
    for i in range(n):
        if "SAME" not in mode and image[i] + pads[i] + pads[n + i] < dilations[i] * (kernel[i] - 1) + 1:
            raise Illegal("no window fits")
    if max(strides) > 1 or g.flip():
        g.attr(strides=strides)
    if max(dilations) > 1 or dilated and g.flip(0.3):
        g.attr(dilations=dilations)
    if ceil:
        g.maybe(ceil_mode=g.int(0, 1))
    return kernel


@recipe("Conv")
def conv(g):
    n = g.pick([1, 2, 2, 2, 3])
    image = g.dims(n, 1, 9)
    kernel = window(g, image)
    group, per = g.pick([1, 1, 2, 3]), g.int(1, 3)
    out = group * g.int(1, 3)
    g.x((g.dim(0, 3), group * per) + image)
    g.x((out, per) + tuple(kernel))
    if g.flip():
        g.x((out,))
    g.maybe(kernel_shape=kernel)
    if group > 1:
        g.attr(group=group)


@recipe("ConvTranspose")
def conv_transpose(g):
    n = g.pick([1, 2, 2, 3])
    image = g.dims(n, 1, 5)
    kernel, strides = [g.int(1, 3) for _ in image], [g.int(1, 3) for _ in image]
    dilations = [g.int(1, 2) for _ in image]
    group = g.pick([1, 1, 2])
    per, out = g.int(1, 2), g.int(1, 3)
    mode = g.pick(["", "pads", "SAME_UPPER", "SAME_LOWER", "output_shape"])
    if mode == "pads":
        g.attr(pads=[g.int(0, (k - 1) // 2) for k in kernel * 2])
    elif mode.startswith("SAME"):
        g.attr(auto_pad=mode)
        if any(s > d * (k - 1) + 1 for s, d, k in zip(strides, dilations, kernel)):
            raise Illegal("negative padding")
    elif mode == "output_shape":
        g.attr(output_shape=[s * (i - 1) + (k - 1) * d + 1 - g.int(0, min(1, k - 1)) for s, i, k, d in zip(strides, image, kernel, dilations)])
    if mode in ("", "pads") and g.flip(0.4):
        g.attr(output_padding=[g.int(0, max(0, s - 1)) for s in strides])
    g.x((g.dim(0, 3), group * per) + image)
    g.x((group * per, out) + tuple(kernel))
    if g.flip():
        g.x((group * out,))
    g.attr(strides=strides, dilations=dilations)
    g.maybe(kernel_shape=kernel)
    if group > 1:
        g.attr(group=group)


@recipe("MaxPool", "AveragePool", "LpPool")
def pool(g):
    image = g.dims(g.pick([1, 2, 2, 3]), 1, 9)
    ceil = g.v >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[g.op]
    kernel = window(g, image, g.v >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[g.op], ceil)
    g.x((g.dim(1, 3), g.dim(1, 3)) + image)
    g.attr(kernel_shape=kernel)
    if g.op == "AveragePool":
        g.maybe(count_include_pad=g.int(0, 1))
    if g.op == "LpPool":
        g.maybe(p=g.int(1, 3))
    if g.op == "MaxPool" and g.v >= 8:
        g.outputs = g.int(1, 2)
        if g.outputs == 2:
            g.maybe(storage_order=g.int(0, 1))


@recipe("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g):
    g.x(g.dims((3, 5), 1, 4))
    if g.op == "GlobalLpPool":
        g.maybe(p=g.int(1, 3))


@recipe("MaxUnpool")
def unpool(g):
    n, c, h, w = g.dims(4, 1, 3)
    x = g.x((n, c, h, w))
    base = np.arange(n * c * h * w).reshape(n, c, h, w) % (h * w)
    index = (base // w * 2) * (2 * w) + base % w * 2
    index = index + np.arange(n * c).reshape(n, c, 1, 1) * 4 * h * w
    g.x(value=index)
    g.attr(kernel_shape=[2, 2], strides=[2, 2])


@recipe("MaxRoiPool")
def max_roi_pool(g):
    n, c = g.int(1, 2), g.int(1, 3)
    g.x((n, c, g.int(2, 6), g.int(2, 6)))
    k = g.int(1, 3)
    corner = g.rng.integers(0, 2, (k, 2))
    size = g.rng.integers(1, 4, (k, 2))
    g.x(value=np.concatenate([g.rng.integers(0, n, (k, 1)), corner, corner + size], 1).astype("f4"))
    g.attr(pooled_shape=[g.int(1, 3), g.int(1, 3)])


@recipe("RoiAlign")
def roi_align(g):
    n, c, h, w = g.int(1, 2), g.int(1, 3), g.int(2, 6), g.int(2, 6)
    g.x((n, c, h, w))
    k = g.int(0, 3)
    corner = g.rng.uniform(0, 2, (k, 2))
    g.x(value=np.concatenate([corner, corner + g.rng.uniform(0.5, 4, (k, 2))], 1))
    g.x((k,), low=0, high=n - 1)
    g.attr(output_height=g.int(1, 3), output_width=g.int(1, 3))
    g.attr(sampling_ratio=g.int(0, 3), spatial_scale=g.pick([0.5, 1.0]))
    g.maybe(mode=g.pick(["avg", "max"]))
    if g.v >= 16:
        g.maybe(coordinate_transformation_mode=g.pick(["half_pixel", "output_half_pixel"]))


@recipe("MatMul")
def matmul(g):
    m, k, n = g.dim(), g.dim(), g.dim()
    a, b = g.broadcast(2, (0, 2))
    g.x((k,) if g.flip(0.15) else a + (m, k))
    g.x((k,) if g.flip(0.15) else b + (k, n))


@recipe("Gemm")
def gemm(g):
    m, k, n = g.dim(), g.dim(), g.dim()
    ta, tb = g.int(0, 1), g.int(0, 1)
    g.x((k, m) if ta else (m, k))
    g.x((n, k) if tb else (k, n))
    if g.v < 11 or g.flip(0.7):
        g.x(g.pick([(m, n), (1, n), (n,), (m, 1), (1,), ()]) if g.v >= 7 else (m, n))
    g.maybe(transA=ta) if not ta else g.attr(transA=1)
    g.maybe(transB=tb) if not tb else g.attr(transB=1)
    g.maybe(alpha=g.pick([0.5, 2.0]) if g.t_first() in FLOATS else 2.0)
    g.maybe(beta=g.pick([0.5, 2.0, 0.0]) if g.t_first() in FLOATS else 2.0)


@recipe("BatchNormalization")
def batch_norm(g):
    x = g.x(rank=(2, 5), least=1, most=4)
    c = x.shape[1]
    for low in (None, None, None, 0.1):
        g.x((c,), low=low, high=2 if low else None)
    g.maybe(epsilon=1e-3)
    g.tolerance = 4
    if g.v >= 14 and g.flip(0.3):
        g.attr(training_mode=1)
        g.maybe(momentum=0.7)
        g.outputs = 3


@recipe("InstanceNormalization")
def instance_norm(g):
    x = g.x(rank=(3, 5), least=1, most=4)
    g.x((x.shape[1],))
    g.x((x.shape[1],))
    g.maybe(epsilon=1e-3)
    g.tolerance = 8


@recipe("GroupNormalization")
def group_norm(g):
    groups = g.int(1, 3)
    c = groups * g.int(1, 3)
    g.x((g.dim(1, 3), c) + g.dims((1, 2), 1))
    size = groups if g.v < 21 else c
    g.x((size,))
    g.x((size,))
    g.attr(num_groups=groups)
    g.maybe(epsilon=1e-3)
    g.tolerance = 8


@recipe("LRN")
def lrn(g):
    g.x(rank=(4, 4), least=1)
    g.attr(size=g.pick([1, 3, 5]))
    g.maybe(alpha=0.01)
    g.maybe(bias=2.0)
    g.maybe(beta=0.5)


@recipe("RNN", "GRU", "LSTM")
def recurrent(g):
    seq, batch, size, hidden = g.dim(1, 4), g.dim(1, 3), g.dim(1, 4), g.dim(1, 4)
    direction = g.pick(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[g.op]
    layout = g.int(0, 1) if g.v >= 14 and g.flip(0.2) else 0
    state = (batch, d, hidden) if layout else (d, batch, hidden)
    g.x((batch, seq, size) if layout else (seq, batch, size), low=-1, high=1)
    g.x((d, gates * hidden, size), low=-1, high=1)
    g.x((d, gates * hidden, hidden), low=-1, high=1)
    g.x((d, 2 * gates * hidden), low=-1, high=1) if g.flip() else g.skip()
    g.x((batch,), low=1, high=seq) if g.flip(0.4) else g.skip()
    g.x(state, low=-1, high=1) if g.flip() else g.skip()
    if g.op == "LSTM":
        g.x(state, low=-1, high=1) if g.flip() else g.skip()
        g.x((d, 3 * hidden), low=-1, high=1) if g.flip(0.4) else g.skip()
        g.maybe(0.2, input_forget=1)
    if g.op == "GRU":
        g.maybe(linear_before_reset=g.int(0, 1))
    if layout:
        g.attr(layout=1)
    g.attr(hidden_size=hidden)
    g.maybe(direction=direction) if direction == "forward" else g.attr(direction=direction)
    g.maybe(0.2, clip=0.5)
    if g.flip(0.3):
        acts = {"RNN": ["Relu"], "GRU": ["HardSigmoid", "Softsign"], "LSTM": ["Sigmoid", "Relu", "Softsign"]}[g.op]
        g.attr(activations=acts * d)
    g.outputs = 3 if g.op == "LSTM" else 2
    g.tolerance = 2


@recipe("Resize")
def resize(g):
    rank = g.pick([1, 2, 3, 4, 4])
    mode = g.pick(["nearest", "linear", "cubic"] if g.v >= 11 else ["nearest", "linear"])
    number = g.t_first() in FLOATS | INTS | {TensorProto.BOOL}
    if not number:
        mode = "nearest"
    if mode == "cubic":
        rank = 4
    outer = max(0, rank - 2) if mode != "nearest" and rank > 2 else 0
    x = g.x(g.dims(outer, 1, 3) + g.dims(rank - outer, 1, 6))
    scales = [1.0] * outer + [g.pick([0.5, 0.6, 1.0, 1.3, 2.0, 2.5, 3.0]) for _ in range(rank - outer)]
    scales = [s if int(np.floor(np.float32(d) * np.float32(s))) > 0 else 1.0 for s, d in zip(scales, x.shape)]
    if g.v == 10:
        g.attr(mode=mode)
        g.x(value=scales)
        return
    g.attr(mode=mode)
    some = ["half_pixel_symmetric"] if g.v >= 19 else ["tf_half_pixel_for_nn"] if g.v < 13 and mode == "nearest" else []
    transform = g.pick(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize" if number else "asymmetric", *some])
    g.attr(coordinate_transformation_mode=transform)
    if mode == "nearest":
        g.attr(nearest_mode=g.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]))
    if mode == "cubic":
        g.maybe(cubic_coeff_a=g.pick([-0.5, -0.75]))
        g.maybe(exclude_outside=g.int(0, 1))
    if g.v >= 18 and mode != "nearest":
        g.maybe(0.3, antialias=1)
    axes = None
    if g.v >= 18 and g.flip(0.4):
        axes = list(range(outer, rank))
        if g.flip(0.3):
            axes = [a - rank for a in axes]
        g.attr(axes=axes)
    keep = lambda values: values[outer:] if axes is not None else values
    g.bound["T2"] = TensorProto.FLOAT
    if transform == "tf_crop_and_resize":  # whole outer axes; quarters are exact in every type
        g.bound["T2"] = NAMES[g.pick(g.words_of("T2"))]
        start = [0.0] * outer + [g.pick([0.0, 0.25, -0.25]) for _ in range(rank - outer)]
        end = [1.0] * outer + [g.pick([1.0, 0.75, 1.25]) for _ in range(rank - outer)]
        g.maybe(extrapolation_value=2.0)
        g.x(value=np.array(keep(start) + keep(end)))
    elif g.v < 13:
        g.x(value=np.zeros(0, "f4"), const=True)  # the roi is not optional yet
    else:
        g.skip()
    if g.flip():
        g.x(value=np.array(keep(scales)))
    else:
        g.skip() if g.v >= 13 else g.x(value=np.zeros(0, "f4"), const=True)
        sizes = list(x.shape[:outer]) + [g.int(1, 9) for _ in range(rank - outer)]
        g.x(value=keep(sizes), dtype=I64)
        if g.v >= 18:
            g.maybe(0.3, keep_aspect_ratio_policy=g.pick(["not_larger", "not_smaller"]))
    g.tolerance = 4


@recipe("Upsample")
def upsample(g):
    mode = g.pick(["nearest", "linear"]) if g.t_first() in FLOATS | INTS | {TensorProto.BOOL} else "nearest"
    x = g.x(g.dims(4, 1, 4))
    scales = [1.0, 1.0, g.pick([1.0, 1.5, 2.0, 3.0]), g.pick([1.0, 1.5, 2.0])]
    g.attr(mode=mode)
    g.attr(scales=scales) if g.v < 9 else g.x(value=scales)


@recipe("GridSample")
def grid_sample(g):
    n = g.pick([2, 2, 3]) if g.v >= 20 else 2
    b = g.int(1, 2)
    x = g.x((b, g.int(1, 2)) + g.dims(n, 2, 5))
    g.x((b,) + g.dims(n, 1, 4) + (n,), low=-1.3, high=1.3)
    names = ["linear", "nearest", "cubic"] if g.v >= 20 else ["bilinear", "nearest", "bicubic"]
    mode = g.pick(names[:2] if n == 3 else names)
    g.attr(mode=mode)
    g.maybe(padding_mode=g.pick(["zeros", "border", "reflection"]))
    g.maybe(align_corners=g.int(0, 1))
    g.tolerance = 16


@recipe("AffineGrid")
def affine_grid(g):
    n = g.pick([2, 3])
    b = g.int(1, 2)
    g.x((b, n, n + 1))
    g.x(value=[b, 2] + [g.int(1, 4) for _ in range(n)])
    g.maybe(align_corners=g.int(0, 1))


@recipe("DeformConv")
def deform_conv(g):
    b, group, per, og = g.int(1, 2), g.int(1, 2), g.int(1, 2), 1
    out = group * g.int(1, 2)
    h, w = g.int(3, 6), g.int(3, 6)
    k = [g.int(1, 3), g.int(1, 3)]
    pads = [g.int(0, 1) for _ in range(4)]
    strides = [g.int(1, 2), g.int(1, 2)]
    oh = (h + pads[0] + pads[2] - k[0]) // strides[0] + 1
    ow = (w + pads[1] + pads[3] - k[1]) // strides[1] + 1
    g.x((b, group * per, h, w))
    g.x((out, per) + tuple(k))
    g.x((b, og * 2 * k[0] * k[1], oh, ow), low=-1.4, high=1.4)
    g.x((out,)) if g.flip() else g.skip()
    if g.flip():
        g.x((b, og * k[0] * k[1], oh, ow))
    g.attr(kernel_shape=k, pads=pads, strides=strides, group=group, offset_group=og)
    g.tolerance = 4


@recipe("Det")
def det(g):
    n = g.int(1, 4)
    g.x(g.dims((0, 2)) + (n, n))
    g.tolerance = 8


@recipe("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(g):
    b, c = g.dim(1, 4), g.dim(1, 5)
    rest = g.dims((0, 2), 1)
    g.x((b, c) + rest)
    g.bind("Tind", g.pick(["int32", "int64"]))
    g.x((b,) + rest, low=0, high=c - 1)
    if g.flip():
        g.x((c,), low=0.1, high=2)
    g.maybe(reduction=g.pick(["none", "sum", "mean"]))
    if g.op == "SoftmaxCrossEntropyLoss":
        g.outputs = g.int(1, 2)


@recipe("NonMaxSuppression")
def nms(g):
    b, k, c = g.int(1, 2), g.int(1, 6), g.int(1, 3)
    center = g.int(0, 1)
    a = g.rng.uniform(0, 1, (b, k, 2))
    boxes = np.concatenate([a + 1, g.rng.uniform(0.2, 1, (b, k, 2))] if center else [a, a + g.rng.uniform(0.2, 1, (b, k, 2))], -1)
    g.x(value=boxes.astype("f4"))
    g.x((b, c, k), low=0, high=1)
    n = g.int(0, 3)
    if n >= 1:
        g.x((1,), value=[g.int(0, 5)])
    if n >= 2:
        g.x((1,), value=[g.pick([0.0, 0.3, 0.5])])
    if n >= 3:
        g.x((1,), value=[0.3])
    g.maybe(center_point_box=center) if not center else g.attr(center_point_box=1)


@recipe("Attention")
def attention(g):
    b, kv, s, t, d = g.int(1, 2), g.int(1, 2), g.int(1, 4), g.int(1, 5), g.int(1, 4)
    h, dv = kv * g.int(1, 2), g.int(1, 4)
    g.bound["T2"] = g.bound["T1"]
    if g.flip(0.3):
        g.x((b, s, h * d))
        g.x((b, t, kv * d))
        g.x((b, t, kv * dv))
        g.attr(q_num_heads=h, kv_num_heads=kv)
    else:
        g.x((b, h, s, d))
        g.x((b, kv, t, d))
        g.x((b, kv, t, dv))
    past = g.flip(0.3)
    p = g.int(1, 3) if past else 0
    if g.flip():
        if g.flip():
            g.bound["U"] = TensorProto.BOOL
            g.x(value=np.concatenate([np.ones((s, 1)), g.rng.integers(0, 2, (s, t + p - 1))], 1) > 0)
        else:
            g.bound["U"] = g.bound["T1"] if g.flip(0.8) else NAMES[g.pick([w for w in g.words_of("U") if w != "bool"])]
            g.x(g.pick([(s, t + p), (1, 1, s, t + p), (b, 1, s, t + p)]))
    else:
        g.skip()
    if past:
        g.x((b, kv, p, d))
        g.x((b, kv, p, dv))
        g.outputs = 3
    g.maybe(0.4, is_causal=1)
    g.maybe(0.3, scale=0.3)
    g.maybe(0.3, softcap=1.5)
    g.tolerance = 4


@recipe("RotaryEmbedding")
def rotary(g):
    b, h, s, d = g.int(1, 2), g.int(1, 3), g.int(1, 4), 2 * g.int(1, 3)
    if g.flip():
        g.x((b, h, s, d))
    else:
        g.x((b, s, h * d))
        g.attr(num_heads=h)
    if g.flip():
        g.x((7, d // 2))
        g.x((7, d // 2))
        g.x((b, s), low=0, high=6)
    else:
        g.x((b, s, d // 2))
        g.x((b, s, d // 2))
    g.maybe(interleaved=g.int(0, 1))


@recipe("LinearAttention")
def linear_attention(g):
    b, s, h, kv, d, dv = g.int(1, 2), g.int(1, 4), 2, g.int(1, 2), g.int(1, 3), g.int(1, 3)
    rule = g.pick(["linear", "gated", "delta", "gated_delta"])
    if "S" not in g.bound:
        g.bound["S"] = g.bound["T"]
    g.x((b, s, h * d))
    g.x((b, s, kv * d), low=-0.5, high=0.5)
    g.x((b, s, kv * dv))
    g.x((b, kv, d, dv)) if g.flip() else g.skip()
    g.x((b, s, kv * d), low=-1, high=0) if "gated" in rule else g.skip()
    g.x((b, s, kv), low=0, high=1) if "delta" in rule else g.skip()
    g.attr(q_num_heads=h, kv_num_heads=kv, update_rule=rule)
    g.outputs = 2
    g.tolerance = 8


@recipe("CausalConvWithState")
def causal_conv(g):
    b, c, s, k = g.int(1, 2), g.int(1, 3), g.int(1, 5), g.int(1, 4)
    g.x((b, c, s))
    g.x((c, 1, k))
    g.x((c,)) if g.flip() else g.skip()
    g.x((b, c, k - 1)) if g.flip() else g.skip()
    g.maybe(activation=g.pick(["none", "silu"]))
    g.outputs = 2
