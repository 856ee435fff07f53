"""Operators in float64, from the formulas of the standard: those of which others judge many draws wrongly or not at all.
The judge of every draw of them, beside the others.

Where a position of Resize or GridSample lies on the edge between two elements, float32 (in which Tenon and ONNX Runtime count positions) may fall
on either side. So a judge here gives several answers: one for every choice of the axes between positions a few roundings
lower and higher, and those next to an element on it. Each element must agree with one of them; away from such edges they are the same."""
import itertools

import numpy as np

ROUNDINGS = 16 * 2.0**-23  # of a position, for each element of its axis


def cubic(d, a):
    d = np.abs(d)
    return np.where(d <= 1, ((a + 2) * d - (a + 3)) * d * d + 1, np.where(d < 2, ((a * d - 5 * a) * d + 8 * a) * d - 4 * a, 0.0))


def linear(d):
    return np.maximum(0.0, 1 - np.abs(d))


# --- Resize ---

def lengths(scale, size):
    """The length of a result before rounding, and after."""
    exact = size * scale
    return exact, int(np.floor(np.float32(size) * np.float32(scale)))


def axes_of(attrs, shape, scales, sizes, roi):
    """(length, scale, exact length of the result, its length, start, end) of every axis."""
    axes = [a % len(shape) for a in attrs.get("axes", range(len(shape)))]
    table = [(n, 1.0, float(n), n, 0.0, 1.0) for n in shape]
    roi = None if roi is None else roi.astype("f8")
    policy = attrs.get("keep_aspect_ratio_policy", "stretch")
    common = None
    if sizes is not None and policy != "stretch":
        pick = min if policy == "not_larger" else max
        common = pick(s / shape[a] for s, a in zip(sizes, axes))
        rounded = pick(np.float32(s) / np.float32(shape[a]) for s, a in zip(sizes, axes))
    for i, a in enumerate(axes):
        start, end = (roi[i], roi[len(axes) + i]) if roi is not None else (0.0, 1.0)
        if common is not None:
            exact = common * shape[a]
            table[a] = (shape[a], common, exact, int(np.floor(np.float64(rounded * np.float32(shape[a])) + 0.5)), start, end)
        elif sizes is not None:
            table[a] = (shape[a], sizes[i] / shape[a], float(sizes[i]), int(sizes[i]), start, end)
        else:
            table[a] = (shape[a], float(scales[i]), *lengths(float(scales[i]), shape[a]), start, end)
    return table


def positions(transform, axis):
    n, scale, exact, out, start, end = axis
    x = np.arange(out, dtype="f8")
    if transform == "asymmetric":
        return x / scale
    if transform == "tf_half_pixel_for_nn":
        return (x + 0.5) / scale
    if transform == "align_corners":  # by the exact length, as ONNX's cases have it
        return x * (n - 1) / (exact - 1) if out > 1 else np.zeros(out)
    if transform == "tf_crop_and_resize":
        return start * (n - 1) + x * (end - start) * (n - 1) / (exact - 1) if out > 1 else np.full(out, 0.5 * (start + end) * (n - 1))
    if transform == "pytorch_half_pixel" and out <= 1:
        return np.zeros(out)
    half = (x + 0.5) / scale - 0.5
    return half + n / 2 * (1 - out / exact) if transform == "half_pixel_symmetric" else half


ROUND = {"round_prefer_floor": lambda p: np.ceil(p - 0.5), "round_prefer_ceil": lambda p: np.floor(p + 0.5), "floor": np.floor, "ceil": np.ceil}


def matrix(p, axis, attrs, mode):
    """Weights [out, n] of the elements of an axis at positions p."""
    n, scale = axis[:2]
    weights = np.zeros((len(p), n))
    if mode == "nearest":
        weights[np.arange(len(p)), np.clip(attrs["round"](p), 0, n - 1).astype(int)] = 1
        return weights
    stretch = min(1.0, scale) if attrs.get("antialias") else 1.0
    reach = int(np.ceil((1 if mode == "linear" else 2) / stretch)) + 1
    for row, at in zip(weights, p):
        taps = np.arange(np.floor(at) - reach, np.floor(at) + reach + 1)
        w = linear((taps - at) * stretch) if mode == "linear" else cubic((taps - at) * stretch, attrs.get("cubic_coeff_a", -0.75))
        if attrs.get("exclude_outside"):
            w = np.where((taps < 0) | (taps >= n), 0.0, w)
        np.add.at(row, np.clip(taps, 0, n - 1).astype(int), w / w.sum())
    return weights


def resize(it, operands):
    """The answers of one of Resize's or Upsample's versions."""
    x, attrs = operands[0], dict(it.attrs)
    at = lambda i: operands[i] if i < len(operands) and operands[i] is not None and operands[i].size else None
    mode, transform = attrs.get("mode", "nearest"), attrs.get("coordinate_transformation_mode", "half_pixel")
    attrs["round"] = ROUND[attrs.get("nearest_mode", "round_prefer_floor")]
    if it.op == "Upsample" or it.v < 11:
        table = axes_of({}, x.shape, at(1) if at(1) is not None else np.float32(attrs["scales"]), None, None)
        transform = "asymmetric"
    else:
        table = axes_of(attrs, x.shape, at(2), at(3), at(1) if transform == "tf_crop_and_resize" else None)
    cropped, choices = transform == "tf_crop_and_resize", []
    for axis in table:
        if it.v < 11:  # ONNX's cases of opset 10 round up where an axis shrinks
            attrs["round"] = np.ceil if axis[1] < 1 else np.floor
        p, choice = positions(transform, axis), []
        near, all_choices = ROUNDINGS * max(1, axis[0]), [p]
        if (mode == "nearest" or cropped) and axis[1:] != (1.0, float(axis[0]), axis[0], 0.0, 1.0):
            all_choices += [p - near, p + near, np.where(np.abs(p - np.rint(p)) <= near, np.rint(p), p)]
        for q in all_choices:
            choice.append((matrix(q, axis, attrs, mode), cropped & ((q < 0) | (q > axis[0] - 1))))
        choices.append([c for i, c in enumerate(choice) if not any(all(map(np.array_equal, c, o)) for o in choice[:i])])
    wide = x.astype("c16" if x.dtype.kind == "c" else "f8") if x.dtype.kind not in "OUS" else None
    for chosen in itertools.product(*choices):
        y, outside = wide, np.zeros((), bool)
        if wide is None:
            yield x[np.ix_(*(w.argmax(axis=1) for w, _ in chosen))]
            continue
        for a, (weights, off) in enumerate(chosen):
            y = np.moveaxis(np.tensordot(weights, y, (1, a)), 0, a)
            outside = outside | off.reshape([-1 if i == a else 1 for i in range(x.ndim)])
        yield np.where(outside, attrs.get("extrapolation_value", 0.0), y)


# --- GridSample ---

def reflect(p, low, high):
    """p folded back at low and high until it lies between them."""
    if high <= low:
        return np.full_like(p, low)
    turn = np.mod(p - low, 2 * (high - low))
    return low + np.minimum(turn, 2 * (high - low) - turn)


def pixel(i, n, padding, edge):
    """(the element that integer position i reads, whether there is one)"""
    inside = (i >= 0) & (i <= n - 1)
    if padding == "reflection":
        i = np.where(inside, i, reflect(i, -edge, n - 1 + edge))
    return np.clip(i, 0, n - 1).astype(int), inside | (padding != "zeros")


def taps_of(p, n, mode, padding, edge):
    """[(weights, elements)] of positions p."""
    if mode == "nearest":
        p = np.rint(p)
    out = (p < -edge) | (p > n - 1 + edge)
    if padding == "border" and mode != "cubic":
        p = np.clip(p, 0, n - 1)
    if padding == "reflection":
        p = np.where(out, reflect(p, -edge, n - 1 + edge), p)
    base, taps = np.floor(p), []
    for i in {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]:
        at, there = pixel(base + i, n, padding, edge)
        w = 1.0 if mode == "nearest" else linear(base + i - p) if mode == "linear" else cubic(base + i - p, -0.75)
        taps.append((np.where(there, w, 0.0), at))
    return taps


def grid_sample(it, operands):
    x, grid = operands[0], operands[1].astype("f8")
    mode = it.attrs.get("mode", "linear").removeprefix("bi")
    padding, align, sizes = it.attrs.get("padding_mode", "zeros"), it.attrs.get("align_corners", 0), x.shape[2:]
    wide = None if x.dtype.kind in "OUS" else x.astype("c16" if x.dtype.kind == "c" else "f8")
    choices = []
    for a, n in enumerate(sizes):
        v = grid[..., len(sizes) - 1 - a]
        p = (v + 1) / 2 * (n - 1) if align else ((v + 1) * n - 1) / 2
        near = ROUNDINGS * n
        choices.append([taps_of(p + s * near, n, mode, padding, 0.0 if align else 0.5) for s in ((-1, 1) if mode == "nearest" else (0,))])
    images = np.arange(x.shape[0]).reshape([-1] + [1] * len(sizes))
    for chosen in itertools.product(*choices):
        total = np.zeros(grid.shape[:-1] + x.shape[1:2], object if wide is None else wide.dtype)
        for taps in itertools.product(*chosen):
            weight = np.prod(np.broadcast_arrays(*(w for w, _ in taps)), axis=0)
            at = (images, slice(None), *(i for _, i in taps))
            if wide is None:
                total = np.where(weight[..., None] != 0, x[at], "")
            else:
                total = total + weight[..., None] * wide[at]
        yield np.moveaxis(total, -1, 1)


# --- pooling ---

def windows(attrs, sizes, kernel):
    """[(positions [outputs, taps], padding before, padding after)] of every spatial axis."""
    n, table = len(sizes), []
    strides, dilations, pads = attrs.get("strides", [1] * n), attrs.get("dilations", [1] * n), attrs.get("pads", [0] * 2 * n)
    for i, (size, k, s, d) in enumerate(zip(sizes, kernel, strides, dilations)):
        reach, before, after = d * (k - 1) + 1, pads[i], pads[n + i]
        same = attrs.get("auto_pad", "NOTSET")
        if same.startswith("SAME"):
            out = -(-size // s)
            pad = max(0, (out - 1) * s + reach - size)
            before, after = (pad // 2, pad - pad // 2) if same == "SAME_UPPER" else (pad - pad // 2, pad // 2)
        else:
            room = size + before + after - reach
            out = (-(-room // s) if attrs.get("ceil_mode") else room // s) + 1
            out -= (out - 1) * s >= size + before  # a window must not begin in the padding behind
        table.append((np.arange(out)[:, None] * s - before + np.arange(k) * d, before, after))
    return table


def has_bare_window(attrs, sizes):
    """A window that lies in padding alone."""
    return any(((p < 0) | (p >= n)).all(axis=1).any() for (p, _, _), n in zip(windows(attrs, sizes, attrs["kernel_shape"]), sizes))


def pool(it, operands):
    """Of a window without elements the standard does not say the result; here it is what Tenon's is, 0 and -inf."""
    x, attrs = operands[0].astype("f8"), it.attrs
    table = windows(attrs, x.shape[2:], attrs["kernel_shape"])
    y = np.zeros(x.shape[:2] + tuple(len(p) for p, _, _ in table))
    for at in np.ndindex(*y.shape[2:]):
        taps = [p[i] for i, (p, _, _) in zip(at, table)]
        inside = [t[(t >= 0) & (t < n)] for t, n in zip(taps, x.shape[2:])]
        part = x[np.ix_(range(x.shape[0]), range(x.shape[1]), *inside)].reshape(x.shape[0], x.shape[1], -1)
        padded = [t[(t >= -b) & (t < n + a)] for t, n, (_, b, a) in zip(taps, x.shape[2:], table)]
        count = np.prod([len(t) for t in (padded if attrs.get("count_include_pad") else inside)])
        power = attrs.get("p", 2)
        y[(..., *at)] = {"AveragePool": lambda: part.sum(-1) / max(count, 1), "LpPool": lambda: (np.abs(part) ** power).sum(-1) ** (1 / power),
                         "MaxPool": lambda: part.max(-1, initial=-np.inf)}[it.op]()
    yield y


def global_lp_pool(it, operands):
    x, power = operands[0].astype("f8"), it.attrs.get("p", 2)
    yield (np.abs(x) ** power).sum(axis=tuple(range(2, x.ndim)), keepdims=True) ** (1 / power)


# --- moving elements ---

def reduce_sum(it, operands):
    x, axes = operands[0], operands[1] if len(operands) > 1 else it.attrs.get("axes")
    wide = x if x.dtype.kind in "iu" else x.astype("f8")
    if axes is None or not len(axes):
        axes = () if it.attrs.get("noop_with_empty_axes") else range(x.ndim)
    yield wide.sum(axis=tuple(int(a) for a in axes), dtype=wide.dtype, keepdims=bool(it.attrs.get("keepdims", 1)))


def affine_grid(it, operands):
    theta, size = operands[0].astype("f8"), operands[1].tolist()
    align, axes = it.attrs.get("align_corners", 0), []
    for n in size[2:]:
        i = np.arange(n)
        axes.append(-1.0 + (2.0 * i / (n - 1) if n > 1 else 0.0 * i) if align else (2.0 * i + 1) / n - 1)
    at = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(size[2:])], -1)  # (x, y, z, 1)
    yield np.einsum("...k,bjk->b...j", at, theta)


def one_hot(it, operands):
    index, depth, (off, on) = np.trunc(operands[0].astype("f8")), int(np.ravel(operands[1])[0]), operands[2]
    axis = it.attrs.get("axis", -1) % (index.ndim + 1)
    index = np.expand_dims(np.where(index < 0, index + depth, index), axis)
    yield np.where(index == np.arange(depth).reshape([-1 if a == axis else 1 for a in range(index.ndim)]), on, off)


def flatten(it, operands):
    x, axis = operands[0], it.attrs.get("axis", 1)
    axis += x.ndim if axis < 0 else 0
    yield x.reshape(int(np.prod(x.shape[:axis])), int(np.prod(x.shape[axis:])))


def gather_elements(it, operands):
    x, index = operands
    axis = it.attrs.get("axis", 0) % x.ndim
    y = np.empty(index.shape, x.dtype)
    for at in np.ndindex(*index.shape):
        y[at] = x[tuple(index[at] if a == axis else i for a, i in enumerate(at))]
    yield y


def center_crop_pad(it, operands):
    x, sizes = operands
    for axis, size in zip(it.attrs.get("axes", range(x.ndim)), sizes.tolist()):
        n, shape = x.shape[axis], list(x.shape)
        shape[axis] = size
        y = np.full(shape, "" if x.dtype.kind == "O" else 0, x.dtype)
        cut = lambda begin, count: tuple(slice(begin, begin + count) if a == axis % x.ndim else slice(None) for a in range(x.ndim))
        y[cut(max(0, size - n) // 2, min(n, size))] = x[cut(max(0, n - size) // 2, min(n, size))]
        x = y
    yield x


JUDGES = {"Resize": resize, "Upsample": resize, "GridSample": grid_sample, "AveragePool": pool, "LpPool": pool, "MaxPool": pool, "GlobalLpPool": global_lp_pool, "ReduceSum": reduce_sum, "AffineGrid": affine_grid,
          "OneHot": one_hot, "Flatten": flatten, "GatherElements": gather_elements, "CenterCropPad": center_crop_pad}


def operands_of(it):
    """The values of the operands, in order; None for what is left out."""
    held = {**it.inputs, **it.constants}
    return [None if not n else held[n] if n in held else held[n + "_wide"] for n in it.operands]


def answers(it):
    with np.errstate(all="ignore"):
        return list(JUDGES[it.op](it, operands_of(it)))


def agrees(got, want, near):
    """Which elements of got are one answer's."""
    if got.dtype.kind in "OUS" or want.dtype.kind in "iu":
        return got == want
    if got.dtype.kind == "b":
        return (got == (want != 0)) | (np.abs(want) <= near)
    if got.dtype.kind in "iu":
        # Fractions are cut, and one next to an integer falls on either side. What the type cannot hold is undefined; Tenon takes the limit
        # (of 0/0 anything).
        wide, info = got.astype("f8"), np.iinfo(got.dtype)
        return np.isnan(want) | np.logical_or.reduce([wide == np.clip(np.trunc(want + s), info.min, info.max) for s in (-near, near)])
    with np.errstate(all="ignore"):
        return (got == want) | (np.abs(got - want) <= near) | (np.isnan(got) & np.isnan(want))


def difference(it, got, units, epsilon):
    """None, or how a result is unlike every answer. units: as judge.difference's."""
    ok, wants = np.zeros(got.shape, bool), answers(it)
    for want in wants:
        if want.shape != got.shape:
            return "shape %s, expected %s" % (got.shape, want.shape)
        scale = 1.0 if want.dtype.kind in "OUS" or not want.size else max(1.0, np.abs(want).max())
        ok |= agrees(got, want, units * (2.0**-23 if got.dtype.kind in "iub" else max(epsilon, 2.0**-23)) * scale)
    if ok.all():
        return None
    at = tuple(np.argwhere(~ok)[0])
    return "element %s of %s is %s, expected %s; %d of %d differ" % (list(map(int, at)), list(ok.shape), got[at], sorted({str(w[at]) for w in wants}), int((~ok).sum()), ok.size)
