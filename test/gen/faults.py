"""More faults of the judges, by families; what Tenon refuses (schema.txt) and what the standard leaves open."""
import os

import numpy as np

from draw import FLOATS, INTS, NAMES, WORDS
from known import doubles, fault, row_type
from spec import has_bare_window

ROUNDED = []


def single(judge, *ops, when=lambda g: True, reason="doubles are computed in float"):
    """The judge's doubles are as exact as floats."""
    ROUNDED.append((judge, set(ops), when, reason))


def rounded(judge, it):
    return any(judge == who and it.op in ops and when(it) for who, ops, when, _ in ROUNDED)


def unsaid(it, output, want):
    """What the standard does not say of an output: the sizes of the elements of a scan that ran no trip."""
    return it.op == "Loop" and output > 0 and np.ndim(want) > 0 and len(want) == 0


def cut(it):
    """Results are fractions cut to integers: one next to an integer falls on either side of it."""
    return it.op in ("Resize", "Upsample", "GridSample") and it.t_first() not in FLOATS and it.attrs.get("mode", "nearest") != "nearest"


def exceptions():
    """{(op, version or *, variable or *, word or *): reason} of schema.txt: what Tenon refuses."""
    table = {}
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schema.txt")) as f:
        for line in f:
            if line.strip() and not line.startswith("#"):
                *key, reason = line.split(None, 4)
                table[tuple(key)] = reason.strip()
    return table


def matching(table, op, version, variable, word):
    return next((k for k in table if k[0] == op and k[1] in ("*", str(version)) and k[2] in ("*", variable) and k[3] in ("*", word)), None)


def refused(row, it):
    _, op, version, _ = row
    return any(matching(EXCEPTIONS, op, version, variable, WORDS.get(t)) for variable, t in it.bound.items())


EXCEPTIONS = exceptions()


def arrays(g):
    return {**g.inputs, **g.constants}


def of(g, name):
    return arrays(g).get(name, arrays(g).get(name + "_wide"))


SUBBYTE = {NAMES[w] for w in ("int2", "uint2", "int4", "uint4")}


def rounds_to_int(g):
    """A cast of fractions."""
    x = of(g, "x0")
    to = g.bound.get("T2")
    return to in SUBBYTE and x is not None and x.dtype.kind == "f" and bool((x.astype("f8") % 1 != 0).any())


def negative_zero(g):
    x = of(g, "x0").astype("f4")
    return bool(((x == 0) & np.signbit(x)).any())


def whole(g):
    x = of(g, "x0").astype("f8")
    return bool((x % 1 == 0).any())


def same_shape(g):
    """A resize that changes no size (with antialias: not every size) although a scale is not 1."""
    x, scales = of(g, "x0"), of(g, "x1") if g.op == "Upsample" or g.v < 11 else of(g, "x2")
    scales = np.array(g.attrs["scales"], "f4") if "scales" in g.attrs else scales
    if scales is None or not scales.size:
        return False
    dims = np.array([x.shape[a] for a in g.attrs.get("axes", range(x.ndim))], "f4")
    still = np.floor(dims * scales) == dims
    return bool((still & (scales != 1)).any() and (still.all() or g.attrs.get("antialias")))


def resized(g, kind="f4"):
    """The axes of a resize from opset 11 on: their lengths, scales and new lengths before rounding, whole ones as they are."""
    x, scales, sizes, policy = of(g, "x0"), of(g, "x2"), of(g, "x3"), g.attrs.get("keep_aspect_ratio_policy")
    dims = np.array([x.shape[a] for a in g.attrs.get("axes", range(x.ndim))], kind)
    if sizes is None or not sizes.size:
        scales = scales.astype(kind)
        return dims, scales, dims * scales
    scales = sizes.astype(kind) / dims
    if not policy:
        return dims, scales, sizes.astype(kind)
    scales = np.full_like(scales, (min if policy == "not_larger" else max)(scales))
    return dims, scales, dims * scales


def fractional(g):
    """A resize whose corners or crops are aligned, to a length that is rounded."""
    return g.attrs.get("coordinate_transformation_mode") in ("align_corners", "tf_crop_and_resize") and bool((resized(g)[2] % 1 != 0).any())


def crops_still(g):
    """A crop of an axis that keeps its length."""
    if g.attrs.get("coordinate_transformation_mode") != "tf_crop_and_resize":
        return False
    _, scales, _ = resized(g)
    start, end = np.split(of(g, "x1").astype("f4"), 2)
    return bool(((scales == 1) & ((start != 0) | (end != 1))).any())


def choices(g, kind):
    """What depends on the positions of a resize being on this or that side of an element, its half, or the edge."""
    transform, taken = g.attrs.get("coordinate_transformation_mode", "half_pixel"), []
    for i, (n, scale, length) in enumerate(zip(*resized(g, kind))):
        x, half = np.arange(int(length + 0.5), dtype=kind), kind(0.5)
        p = {"asymmetric": lambda: x / scale, "align_corners": lambda: x * (n - 1) / max(length - 1, kind(1)),
             "tf_half_pixel_for_nn": lambda: (x + half) / scale, "half_pixel_symmetric": lambda: n / 2 * (1 - np.floor(length + half) / length) + (x + half) / scale - half}.get(transform, lambda: (x + half) / scale - half)()
        if transform == "tf_crop_and_resize":
            start, end = (a[i] for a in np.split(of(g, "x1").astype(kind), 2))
            p = start * (n - 1) + x * (end - start) * (n - 1) / max(length - 1, kind(1))
        taken += [np.floor(p), np.ceil(p), np.floor(p + half), np.ceil(p - half)]
    return np.concatenate(taken)


def rounding_decides(g):
    nearest, crop = g.attrs["mode"] == "nearest", g.attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize"
    return g.v >= 11 and (nearest or crop) and not np.array_equal(choices(g, np.float32), choices(g, np.float64))


def shrinks_to_one(g):
    x, scales, sizes = of(g, "x0"), of(g, "x2"), of(g, "x3")
    dims = np.array([x.shape[a] for a in g.attrs.get("axes", range(x.ndim))], "f4")
    given = sizes is not None and sizes.size
    return bool(given and (1 in sizes or "keep_aspect_ratio_policy" in g.attrs) or not given and (np.floor(dims * scales) == 1).any())


def flat_groups(g):
    """As flat, of the groups of channels."""
    x = of(g, "x0").astype("f8")
    x = x.reshape(x.shape[0], g.attrs["num_groups"], -1)
    return bool((x.var(axis=-1) < 1e-2 * (x**2).mean(axis=-1)).any())


def flat(g, axes=None):
    """A variance that is small beside the mean."""
    x = of(g, "x0").astype("f8")
    axes = tuple(g.attrs.get("axes", (0, 2, 3)) if axes is None else axes)
    return bool((x.var(axis=axes) < 1e-2 * (x**2).mean(axis=axes)).any())


fault("runtime", "Cast", "CastLike", when=rounds_to_int, reason="fractions are rounded, not cut toward zero, on the way to 2- and 4-bit integers")
fault("runtime", "Cast", "CastLike", when=lambda g: g.attrs.get("saturate") == 0 and g.bound.get("T2") == NAMES["float8e5m2"],
      reason="overflow gives NaN; the standard says Inf")
fault("runtime", "Cast", "CastLike", when=lambda g: g.bound.get("T2") == NAMES["bool"] and WORDS[g.t_first()].startswith("float8") and negative_zero(g),
      reason="-0 of 8 bits is true; the standard says false")
fault("reference", "Cast", "CastLike", when=lambda g: g.bound.get("T2") == NAMES["string"] and g.t_first() in FLOATS and whole(g),
      reason="whole numbers get .0 (1.0, 3e+04); the standard says `plain`, of which Tenon and ONNX Runtime write 1, 30000")
fault("runtime", "Col2Im", when=lambda g: of(g, "x1").size == 1 and g.attrs["dilations"] != [1], reason="one spatial axis, dilated: channels after the first are misplaced")
fault("runtime", "Gather", when=row_type("string"), reason="rows of strings: only the first of each run is copied")
fault("runtime", "AffineGrid", when=lambda g: g.attrs.get("align_corners") and 1 in of(g, "x1")[2:],
      reason="an axis of one element lies at 1; the standard counts from -1")
fault("runtime", "Resize", "Upsample", when=same_shape, reason="copies when the shape stays, although the scale moves the positions")
fault("runtime", "Resize", when=crops_still, reason="an axis that keeps its length is not cropped")
fault("runtime", "Resize", when=lambda g: g.attrs["mode"] == "cubic" and g.attrs.get("coordinate_transformation_mode") == "tf_crop_and_resize",
      reason="a cubic does not extrapolate")
fault("runtime", "Resize", when=lambda g: "keep_aspect_ratio_policy" in g.attrs and min(g.attrs.get("axes", [0])) < 0,
      reason="negative axes are not looked up for the common scale")
fault("runtime", "Sign", when=row_type("float16", "bfloat16"), reason="NaN gives 0")
fault("runtime", "Resize", when=fractional, reason="aligns corners with the rounded length; ONNX's own cases take the exact one")
fault("runtime", "ReduceLogSumExp", when=lambda g: g.t_first() in INTS, reason="integers: every term is cut")
for judge in ("runtime", "reference"):
    fault(judge, "HammingWindow", "HannWindow", "BlackmanWindow", when=lambda g: not g.attrs.get("periodic", 1) and of(g, "x0") <= 1,
          reason="one element, not periodic: 0 / 0")
fault("runtime", "Resize", when=lambda g: g.attrs.get("antialias") and g.t_first() in INTS,
      reason="antialias of integers: rounded between the axes, int8 cut to 0..255 as if it had no sign")
for judge in ("runtime", "reference"):
    fault(judge, "GroupNormalization", when=flat_groups, reason="E[x^2] - E[x]^2 of nearly equal numbers: cancels")
fault("runtime", "InstanceNormalization", when=lambda g: flat(g, range(2, of(g, "x0").ndim)), reason="the mean of nearly equal numbers times the scale is taken off the bias: cancels")
fault("runtime", "AveragePool", "MaxPool", "LpPool",
      when=lambda g: "SAME" in g.attrs.get("auto_pad", "") and any(s > k for s, k in zip(g.attrs.get("strides", ()), g.attrs["kernel_shape"])),
      reason="strides beyond the kernel under SAME make the standard's padding negative: some shift the windows, some refuse; pads are not negative, and its Conv pads nothing there, as Tenon")
fault("runtime", "MaxPool", when=lambda g: has_bare_window(g.attrs, of(g, "x0").shape[2:]),
      reason="a window of padding alone gives the lowest number and a negative index; the standard says nothing, Tenon gives -inf and its image's first index")
fault("reference", "MaxPool", "AveragePool", "LpPool", when=lambda g: has_bare_window(g.attrs, of(g, "x0").shape[2:]),
      reason="a window of padding alone gives 0 or NaN; the standard says nothing")
fault("runtime", "Attention", when=lambda g: g.attrs.get("is_causal") and "x4" in g.operands, reason="is_causal behind a past that is given apart: other keys are seen; the reference implementation agrees with Tenon")
fault("runtime", "Attention", when=lambda g: g.bound.get("U") in INTS and g.attrs.get("is_causal"), reason="is_causal beside a mask of integers: minus infinity becomes an integer, and wraps when a negative one is added")
fault("runtime", "MatMulInteger", when=lambda g: of(g, "x0").shape[-1] == 0, reason="sums of nothing are not written")
fault("runtime", "MeanVarianceNormalization", when=flat, reason="the mean of nearly equal numbers is rounded before it is taken off")
fault("runtime", "CastLike", when=lambda g: g.attrs.get("round_mode", "up") != "up", reason="round_mode does not count")
single("runtime", "Gelu", "Attention", "DFT", "STFT", "HammingWindow", "HannWindow", "BlackmanWindow", "SoftmaxCrossEntropyLoss", "GroupNormalization",
       "LayerNormalization", "RMSNormalization", "GridSample", "Resize")
single("reference", "Gelu", "BatchNormalization", "Attention", "GroupNormalization", "LayerNormalization", "RMSNormalization")
fault("reference", "Resize", when=rounding_decides, reason="positions are computed in double; Tenon and ONNX Runtime take float, which decides the nearest")
single("reference", "Resize", "GridSample", reason="positions are computed in double; Tenon and ONNX Runtime take float, which decides the nearest")
fault("reference", "Cast", "CastLike", when=lambda g: row_type("string")(g) and g.bound.get("T2") == NAMES["float8e8m0"],
      reason="to powers of two: negative texts lose their sign, infinity is NaN; the standard says neither (test/gen/cases.py has the others)")
fault("reference", "GridSample", when=lambda g: g.attrs["mode"] in ("cubic", "bicubic") and g.attrs.get("padding_mode") == "border",
      reason="the position is clamped before the weights are taken; ONNX Runtime's opset 16 agrees with Tenon")
fault("reference", "GridSample", when=lambda g: g.attrs["mode"] == "nearest" and WORDS[g.bound["T2"]] in ("float16", "bfloat16"),
      reason="positions are computed in the 16 bits of the grid")
fault("reference", "MeanVarianceNormalization", when=flat, reason="E[x^2] - E[x]^2 of nearly equal numbers: cancels")
fault("reference", "ConvTranspose", when=lambda g: g.attrs.get("group", 1) > 1 and "x2" in g.operands, reason="every group takes the bias of the first")
fault("reference", "Trilu", when=row_type("string"), reason="strings are padded with '0'")
fault("reference", "GlobalMaxPool", when=lambda g: of(g, "x0").ndim != 4, reason="takes the wrong axes, but for two spatial ones")
fault("reference", "LRN", reason="runs over as many channels as there are images")
fault("reference", "LpPool", "AveragePool", "MaxPool", reason="dilations do not count when auto_pad is set, and padding counts as elements")
fault("reference", "RNN", "GRU", "LSTM", when=lambda g: {"activations", "clip", "input_forget", "layout"} & set(g.attrs) or "x4" in g.operands,
      reason="activations, clip, input_forget and sequence_lens are not looked at")
fault("reference", "GridSample", when=lambda g: g.t_first() not in FLOATS and g.attrs["mode"] != "nearest", reason="weights are cut to integers")
fault("reference", "Resize", when=lambda g: g.t_first() not in FLOATS and g.attrs["mode"] != "nearest", reason="results are rounded to integers, not cut")
fault("reference", "AffineGrid", when=lambda g: g.t_first() != NAMES["float"], reason="the result is float32 whatever the input's type")
fault("reference", "OneHot", when=lambda g: g.t_first() in FLOATS, reason="floats are not cut to integers")
fault("reference", "QLinearMatMul", when=lambda g: any(WORDS.get(t, "").startswith("float8") for t in g.bound.values()), reason="8-bit floats are cut to integers")
fault("reference", "QLinearConv", when=lambda g: of(g, "x0").ndim == 3, reason="one spatial axis becomes two")
fault("reference", "Pad", "CenterCropPad", when=row_type("float8e8m0"), reason="padded with 0, which the type has not")
fault("reference", "Scan", when=lambda g: g.v < 9, reason="the batch axis of opset 8 is taken for the scanned one")
fault("reference", "Loop", reason="scanned results are joined, not stacked")
fault("reference", "Resize", when=row_type("complex64", "complex128"), reason="imaginary parts are lost")
fault("reference", "Resize", when=fractional, reason="one element of a length that is rounded to 1 does not lie in the middle of a crop")
fault("reference", "Resize", when=lambda g: g.attrs.get("coordinate_transformation_mode") == "pytorch_half_pixel" and shrinks_to_one(g),
      reason="a result of one element is taken at -0.5 instead of 0, or as if it were longer")
fault("reference", "Slice", when=lambda g: "x4" in g.operands and (of(g, "x4") < 0).any() and (of(g, "x1") < 0).any(),
      reason="step < 0 with a start before the first element: nothing, as numpy; the standard clamps it to the first")
fault("reference", "Unsqueeze", when=lambda g: "axes" in g.attrs, reason="axes are inserted one after the other, so that their order counts")
fault("reference", "MelWeightMatrix", when=lambda g: g.bound["T2"] not in (NAMES["float"], NAMES["double"]), reason="frequencies are computed in the short type")
fault("reference", "Shape", when=lambda g: min(g.attrs.get("start", 0), g.attrs.get("end", 0)) < -of(g, "x0").ndim, reason="negative ends are not clamped")
fault("reference", "SequenceInsert", when=lambda g: True, reason="the position after the last item is taken as the first")
fault("reference", "QuantizeLinear", when=lambda g: g.t_first() == NAMES["int32"], reason="quotients beyond int32 wrap")
fault("reference", "BatchNormalization", when=lambda g: g.outputs == 3, reason="statistics are float64 whatever the input's type")
