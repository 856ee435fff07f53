"""Recipes: operators that move data, and those that make or read shapes."""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from draw import CARRIER, FLOATS, INTS, NAMES, SMALL_FLOATS, UNSIGNED, Illegal, as_tensor, np_type, recipe

I64 = TensorProto.INT64


def factored(g, shape):
    """Another shape with as many elements."""
    count, out = int(np.prod(shape)), []
    while count > 1 and len(out) < 4:
        d = g.pick([d for d in range(1, count + 1) if count % d == 0])
        out.append(d)
        count //= d
    if count != 1:
        out.append(count)
    for _ in range(g.int(0, 2)):
        out.insert(g.int(0, len(out)), 1)
    return out


@recipe("Reshape")
def reshape(g):
    x = g.x()
    target = factored(g, x.shape) if x.size else [0] + list(g.dims((0, 2), 1))
    if x.size:
        if target and g.flip():
            target[g.int(0, len(target) - 1)] = -1
        if g.flip(0.3):
            for i in range(min(len(target), x.ndim)):
                if target[i] == x.shape[i]:
                    target[i] = 0
    elif g.v >= 14:
        g.attr(allowzero=1)
    else:
        target = [0 if g.flip(0.3) and d else d for d in x.shape]
        if not all(t == s or t == 0 and s for t, s in zip(target, x.shape)):
            target = [0] * x.ndim
    g.x(value=np.array(target, "i8"), dtype=I64)


@recipe("Flatten")
def flatten(g):
    x = g.x(rank=(1, 4))
    g.maybe(axis=g.int(-x.ndim if g.v >= 11 else 0, x.ndim))


@recipe("Squeeze")
def squeeze(g):
    x = g.x()
    ones = [i for i, d in enumerate(x.shape) if d == 1]
    axes = [a for a in ones if g.flip()]
    axes = [a - x.ndim if g.v >= 11 and g.flip(0.3) else a for a in axes]
    if not axes or g.flip(0.2):
        return
    g.attr(axes=axes) if g.v < 13 else g.x(value=axes, dtype=I64)


@recipe("Unsqueeze")
def unsqueeze(g):
    x = g.x()
    n = g.int(1, 2)
    rank = x.ndim + n
    axes = g.rng.permutation(rank)[:n].tolist()
    axes = [a - rank if g.v >= 11 and g.flip(0.3) else a for a in axes]
    g.attr(axes=axes) if g.v < 13 else g.x(value=axes, dtype=I64)


@recipe("Transpose")
def transpose(g):
    x = g.x()
    if x.ndim:
        g.maybe(0.8, perm=g.rng.permutation(x.ndim).tolist())


@recipe("Expand")
def expand(g):
    a, b = g.broadcast(2)
    g.x(a)
    g.x(value=np.array(b, "i8"), dtype=I64)


@recipe("Tile")
def tile(g):
    x = g.x(rank=(1, 4))
    g.x(value=[g.int(0, 3) for _ in x.shape], dtype=I64)


@recipe("Concat")
def concat(g):
    shape = list(g.dims((1, 4)))
    axis = g.axis(len(shape), 11)
    for _ in range(g.int(1, 4)):
        shape[axis] = g.dim()
        g.x(shape)
    g.attr(axis=axis)


@recipe("Split")
def split(g):
    shape = list(g.dims((1, 4)))
    axis = g.axis(len(shape), 11)
    g.outputs = g.int(1, 4)
    even = g.flip()
    sizes = [g.dim(1)] * g.outputs if even else [g.dim(0) for _ in range(g.outputs)]
    shape[axis] = sum(sizes)
    g.x(shape)
    g.maybe(axis=axis) if axis in (0, -len(shape)) else g.attr(axis=axis)
    if even and g.flip():
        if g.v >= 18:
            g.attr(num_outputs=g.outputs)
    elif g.v >= 13:
        g.x(value=sizes, dtype=I64)
    else:
        g.attr(split=sizes)


@recipe("Slice")
def slice_(g):
    x = g.x(rank=(1, 4))
    axes = g.rng.permutation(x.ndim)[:g.int(1, x.ndim)].tolist()
    far = 2**31 - 1
    starts = [g.pick([0, 1, -1, -3, g.int(-8, 8), -far]) for _ in axes]
    ends = [g.pick([2, -1, g.int(-8, 8), far, -far]) for _ in axes]
    if g.v < 10:
        if sorted(axes) == list(range(x.ndim)) and g.flip():
            g.attr(starts=starts, ends=ends)
        else:
            g.attr(starts=starts, ends=ends, axes=axes)
        return
    axes = [a - x.ndim if g.v >= 10 and g.flip(0.3) else a for a in axes]
    kind = g.pick([np.dtype("i4"), np.dtype("i8")])
    g.bind("Tind", "int32" if kind.itemsize == 4 else "int64")
    if axes == list(range(len(axes))) and g.flip():
        axes = None
    g.x(value=starts)
    g.x(value=ends)
    g.skip() if axes is None else g.x(value=axes)
    if g.flip(0.6):
        steps = [g.pick([1, 1, 2, 3, -1, -2, -9]) for _ in starts]
        g.x(value=steps)
        g.back_to_end = any(s < 0 and e == far for s, e in zip(steps, ends))


@recipe("Gather")
def gather(g):
    x = g.x(rank=(1, 4), least=0)
    axis = g.axis(x.ndim, 11)
    d = x.shape[axis]
    shape = g.dims((0, 3)) if d else g.dims((0, 2)) + (0,)
    g.x(shape, low=-d if g.v >= 11 else 0, high=max(0, d - 1))
    g.maybe(axis=axis) if axis in (0, -x.ndim) else g.attr(axis=axis)


@recipe("GatherElements")
def gather_elements(g):
    x = g.x(rank=(1, 4), least=1)
    axis = g.axis(x.ndim)
    shape = [g.int(0 if g.flip(0.1) else 1, d) for d in x.shape]
    shape[axis] = g.dim()
    g.x(shape, low=-x.shape[axis], high=x.shape[axis] - 1)
    g.maybe(axis=axis) if axis in (0, -x.ndim) else g.attr(axis=axis)


def nd_indices(g, shape, batch, outer):
    depth = g.int(1, len(shape) - batch)
    columns = [g.rng.integers(-shape[batch + i], shape[batch + i], outer) for i in range(depth)]
    return np.stack(columns, -1) if columns else np.zeros(outer + (0,), "i8")


@recipe("GatherND")
def gather_nd(g):
    x = g.x(rank=(1, 4), least=1)
    batch = g.int(0, x.ndim - 1) if g.v >= 12 and g.flip() else 0
    outer = x.shape[:batch] + g.dims((0, 2))
    g.x(value=nd_indices(g, x.shape, batch, outer))
    if batch:
        g.attr(batch_dims=batch)


REDUCTIONS = {16: ["none", "add", "mul"], 18: ["none", "add", "mul", "min", "max"]}


@recipe("ScatterND")
def scatter_nd(g):
    x = g.x(rank=(1, 4), least=1)
    reduction = g.pick(REDUCTIONS.get(g.v, ["none"]))
    if g.t_first() not in FLOATS | (INTS - {NAMES["uint4"]}):
        reduction = "none"
    indices = nd_indices(g, x.shape, 0, g.dims((0, 2)))
    if reduction == "none":  # duplicates have no defined order
        flat = indices.reshape(-1, indices.shape[-1]) % np.array(x.shape[:indices.shape[-1]])
        indices = np.unique(flat, axis=0)
    depth = indices.shape[-1]
    g.x(value=indices)
    g.x(indices.shape[:-1] + x.shape[depth:])
    if reduction != "none":
        g.attr(reduction=reduction)


@recipe("ScatterElements", "Scatter")
def scatter_elements(g):
    x = g.x(rank=(1, 4), least=1)
    axis = g.axis(x.ndim, 11)
    reduction = g.pick(REDUCTIONS.get(g.v, ["none"])) if g.op != "Scatter" else "none"
    if g.t_first() not in FLOATS | INTS:
        reduction = "none"
    shape = [g.int(1, d) for d in x.shape]
    d = x.shape[axis]
    if reduction == "none":
        order = g.rng.permutation(d)[:shape[axis]]
        view = [1] * x.ndim
        view[axis] = len(order)
        indices = np.broadcast_to(order.reshape(view), shape)
    else:
        indices = g.rng.integers(-d if g.v >= 11 else 0, d, shape)
    g.x(value=indices)
    g.x(shape)
    g.attr(axis=axis)
    if reduction != "none":
        g.attr(reduction=reduction)


@recipe("Compress")
def compress(g):
    x = g.x(rank=(1, 4))
    axis = g.axis(x.ndim, 11) if g.flip() else None
    size = x.size if axis is None else x.shape[axis]
    g.x((g.int(0, size),))
    g.attr(axis=axis)


@recipe("Pad")
def pad(g):
    x = g.x(rank=(1, 4), least=1)
    modes = ["constant", "edge", "reflect"] + (["wrap"] if g.v >= 19 else [])
    mode = g.pick(modes)
    axes = list(range(x.ndim))
    if g.v >= 18 and g.flip(0.4):
        axes = g.rng.permutation(x.ndim)[:g.int(1, x.ndim)].tolist()
    limit = lambda d: d - 1 if mode == "reflect" else d if mode == "wrap" else 3
    pads = [g.int(-1 if x.shape[a] > 2 and mode == "constant" and g.flip(0.3) else 0, min(3, limit(x.shape[a]))) for a in axes * 2]
    g.attr(mode=mode) if mode != "constant" or g.flip() else None
    if g.v < 11:
        g.attr(pads=pads)
        g.maybe(value=1.5)
        return
    g.x(value=pads, dtype=I64)
    given = g.flip()
    with_axes = len(axes) < x.ndim or axes != sorted(axes)
    if given:
        g.x(())
    elif with_axes:
        g.skip()
    if with_axes:
        axes = [a - x.ndim if g.flip(0.3) else a for a in axes]
        g.x(value=axes)


@recipe("CenterCropPad")
def center_crop_pad(g):
    x = g.x(rank=(1, 4))
    axes = list(range(x.ndim))
    if g.flip():
        axes = g.rng.permutation(x.ndim)[:g.int(1, x.ndim)].tolist()
        g.attr(axes=[a - x.ndim if g.flip(0.3) else a for a in axes])
    g.x(value=[g.dim(1, 7) for _ in axes])


@recipe("DepthToSpace", "SpaceToDepth")
def depth_to_space(g):
    b = g.int(1, 3)
    n, c, h, w = g.dims(4, 0, 3)
    g.x((n, c * b * b, h, w) if g.op == "DepthToSpace" else (n, c, h * b, w * b))
    g.attr(blocksize=b)
    if g.op == "DepthToSpace" and g.v >= 11:
        g.maybe(mode=g.pick(["DCR", "CRD"]))


@recipe("Trilu")
def trilu(g):
    x = g.x(rank=(2, 4))
    if g.flip():
        g.x((), value=g.int(-5, 5))
    g.maybe(upper=g.int(0, 1))


@recipe("EyeLike")
def eye_like(g):
    g.x(rank=(2, 2))
    words = [w for w in g.words_of("T2") if w != "string"]
    if g.flip() or g.bound["T1"] not in {NAMES[w] for w in words}:
        g.bound["T2"] = NAMES[g.pick(words)]
        g.attr(dtype=g.bound["T2"])
    else:
        g.bound["T2"] = g.bound["T1"]
    g.maybe(k=g.int(-3, 3))


@recipe("Shape")
def shape(g):
    x = g.x()
    if g.v >= 15:
        g.maybe(start=g.int(-5, 5))
        g.maybe(end=g.int(-5, 5))


@recipe("Size")
def size(g):
    g.x()


@recipe("ConstantOfShape")
def constant_of_shape(g):
    if g.flip(0.8):
        words = g.words_of("T2")
        t = NAMES[g.pick(words)]
        g.bound["T2"] = t
        g.attr(value=as_tensor(g.values((1,), t), "v", t))
    else:
        g.bound["T2"] = TensorProto.FLOAT
    g.x(value=np.array(g.dims((0, 4)), "i8"))


@recipe("Range")
def range_(g):
    t = g.t_first()
    step = g.pick([1, 2, 3] + ([] if t in UNSIGNED else [-1, -2]))
    start = g.int(0, 5)
    stop = start + step * g.int(0, 6) + (g.int(0, 1) if step > 0 else 0)
    stop = max(0, stop) if t in UNSIGNED else stop
    half = 0.5 if t in FLOATS and g.flip() else 1
    for v in (start * half, stop * half, step * half):
        g.x((), value=v)


@recipe("OneHot")
def one_hot(g):
    depth = g.int(1, 5)
    i = g.x(low=-depth if g.t_first() not in UNSIGNED else 0, high=depth - 1)
    g.x((1,) if g.flip() else (), value=np.full((1,), depth) if False else depth) if g.flip() else g.x(value=[depth])
    g.x((2,))
    g.maybe(axis=g.int(-i.ndim - 1, i.ndim))


@recipe("ReverseSequence")
def reverse_sequence(g):
    x = g.x(rank=(2, 4), least=1)
    time = g.int(0, 1)
    g.attr(time_axis=time, batch_axis=1 - time)
    g.x((x.shape[1 - time],), low=1, high=x.shape[time], dtype=I64)


@recipe("TensorScatter")
def tensor_scatter(g):
    rank = g.int(2, 4)
    axis = g.int(1, rank - 1)
    shape = list(g.dims(rank, 1))
    update = list(shape)
    update[axis] = g.int(1, shape[axis])
    g.x(shape)
    g.x(update)
    circular = g.flip()
    if g.flip(0.7):
        g.x((shape[0],), low=0, high=shape[axis] - (1 if circular else update[axis]), dtype=I64)
    g.attr(axis=g.pick([axis, axis - rank]))
    if circular:
        g.attr(mode="circular")


@recipe("Constant")
def constant(g):
    t = g.t_first()
    options = ["value"]
    if g.v >= 12:
        options += {TensorProto.FLOAT: ["value_float", "value_floats"], I64: ["value_int", "value_ints"], TensorProto.STRING: ["value_string", "value_strings"]}.get(t, [])
    how = g.pick(options)
    a = g.values(g.dims((0, 3)), t)
    if how == "value":
        g.attr(value=as_tensor(a, "v", t))
    else:
        row = g.values((3,), t).tolist()
        g.attr(**{how: row if how.endswith("s") else row[0]})


@recipe("Col2Im")
def col2im(g):
    n = 2 if g.flip(0.7) else 1
    block, image = [g.int(1, 3) for _ in range(n)], [g.int(3, 6) for _ in range(n)]
    strides, dilations = [g.int(1, 2) for _ in range(n)], [g.int(1, 2) if b > 1 else 1 for b in block]
    pads = [g.int(0, 1) for _ in range(2 * n)]
    counts = [(i + pads[k] + pads[n + k] - d * (b - 1) - 1) // s + 1 for k, (i, b, s, d) in enumerate(zip(image, block, strides, dilations))]
    if min(counts) < 1:
        raise Illegal("no block fits")
    g.x((g.dim(1, 2), g.dim(1, 3) * int(np.prod(block)), int(np.prod(counts))))
    g.x(value=image)
    g.x(value=block)
    g.attr(strides=strides, dilations=dilations, pads=pads)
