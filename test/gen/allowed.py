"""Where what `tenon infer` says and what ONNX Runtime does may differ, each with its reason."""
import re

import numpy as np

import shrink

FAILURES, REFUSALS, REFUSED, VALUES = [], [], [], []

# Operands whose elements decide a shape. Where they are not known when a model is read, no check guards the node.
BY_VALUE = {"Reshape": (1,), "Expand": (1,), "Tile": (1,), "Pad": (1, 3), "Slice": (1, 2, 3, 4), "Squeeze": (1,), "Unsqueeze": (1,), "TopK": (1,), "Range": (0, 1, 2),
            "ConstantOfShape": (0,), "Split": (1,), "Resize": (2, 3), "OneHot": (1,), "CumSum": (1,), "CumProd": (1,), "CenterCropPad": (1,), "SplitToSequence": (1,),
            "SequenceAt": (1,), "SequenceErase": (1,), "SequenceInsert": (2,), "ReverseSequence": (1,), "TensorScatter": (2,), "DFT": (1, 2), "AffineGrid": (1,), "Trilu": (1,),
            "Col2Im": (1, 2), "MaxUnpool": (2,), "STFT": (1, 3), "Upsample": (1,), "Dropout": (1, 2), "HannWindow": (0,), "HammingWindow": (0,), "BlackmanWindow": (0,)}
# Operands that are constants in any model that makes sense; else they may be out of range.
CONSTANT = {"Slice": (3, 4), "Pad": (3,), "Squeeze": (1,), "Unsqueeze": (1,), "CumSum": (1,), "CumProd": (1,), "DFT": (2,)}
# A node of these may fail because of the contents of its operands, which no shape tells.
BY_CONTENTS = {"Gather", "GatherND", "GatherElements", "ScatterND", "ScatterElements", "OneHot", "NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss", "ReverseSequence",
               "TensorScatter", "MaxUnpool", "RotaryEmbedding", "Div", "Mod", "MaxRoiPool", "MelWeightMatrix", "RoiAlign", "GRU", "LSTM", "RNN"}


def failure(op, pattern, reason):
    """ONNX Runtime fails where Tenon's checks hold."""
    FAILURES.append((op, pattern, reason))


def refusal(op, pattern, when, reason):
    """Tenon's check refuses what ONNX Runtime runs."""
    REFUSALS.append((op, pattern, when, reason))


def refused(op, pattern, reason):
    """Tenon refuses a model that ONNX Runtime runs."""
    REFUSED.append((op, pattern, reason))


def value(op, when, reason):
    """The value in ONNX Runtime is not as inferred."""
    VALUES.append((op, when, reason))


def named(model, name):
    return next((n for n in model.graph.node if n.name == name), None)


def unknown(claims, name):
    """Is not every element known?"""
    if name not in claims.values:
        return False  # a constant
    elements = claims.values[name].get("elements")
    shape = claims.values[name]["shape"]
    return None in elements if elements is not None else shape is None or 0 not in shape


def constant(claims, name):
    return all(isinstance(e, int) for e in claims.values[name].get("elements", [None]))


def by_data(model, claims, name):
    """Has the node, or one in its bodies, an operand or result that data decides?"""
    node = named(model, name)
    if node is None or node.op_type in ("If", "Loop", "Scan", "SequenceMap"):
        return True
    if any(v in claims.values and claims.values[v]["shape"] is None for v in [*node.input, *node.output]):
        return True
    reduces = node.op_type.startswith("Reduce")
    if any(i < len(node.input) and node.input[i] in claims.values and not constant(claims, node.input[i]) for i in ((1,) if reduces else CONSTANT.get(node.op_type, ()))):
        return True
    at = (1,) if reduces else BY_VALUE.get(node.op_type, ())
    return any(i < len(node.input) and node.input[i] and unknown(claims, node.input[i]) for i in at)


def idle(node, run):
    """A Loop with scan outputs that no iteration made: ONNX Runtime takes their unknown dims as 0, Tenon as what an iteration would give."""
    return node.op_type == "Loop" and any(isinstance(run.get(o), np.ndarray) and run[o].ndim and run[o].shape[0] == 0 for o in node.output)


def behind(model, node, run):
    """Is the node made of a value that ONNX Runtime has otherwise?"""
    before = shrink.ancestors(model, shrink.names_used(node))
    return any(all(v in run for v in [*n.input, *n.output] if v) and may_differ(n, run) for n in before)


def may_fail(model, claims, run, op, node, text):
    if by_data(model, claims, node) or op in BY_CONTENTS or behind(model, named(model, node), run):
        return True
    return any((o is None or op in o) and re.search(pattern, text) for o, pattern, _ in FAILURES)


def may_refuse(model, check, run):
    node = named(model, check["node"])
    if node is None:
        return False
    if behind(model, node, run):
        return True
    return any((o is None or node.op_type in o) and re.search(pattern, check["why"]) and when(node, run) for o, pattern, when, _ in REFUSALS)


def may_be_refused(model, failed, run):
    inner = {n for node in model.graph.node for n in inner_names(node)}
    if failed.node in inner:
        return True  # what fails whenever it is reached is refused, though it may never be
    node = named(model, failed.node)
    if failed.kind == "refused" and node is not None and behind(model, node, run):
        return True
    return failed.kind == "refused" and any((o is None or failed.op in o) and re.search(pattern, failed.text) for o, pattern, _ in REFUSED)


def inner_names(node):
    for a in node.attribute:
        for inner in a.g.node:
            yield inner.name
            yield from inner_names(inner)


def may_differ(node, run):
    return any(node.op_type in o and when(node, run) for o, when, _ in VALUES)


def attr(node, name, default):
    from onnx import helper
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def empty(node, run):
    """Has an operand or a result no elements?"""
    return any(isinstance(run.get(v), np.ndarray) and run[v].size == 0 for v in [*node.input, *node.output])


def overhangs(node, run):
    """Is a window larger than the padded image?"""
    kernel = attr(node, "kernel_shape", [])
    pads, dilations = attr(node, "pads", [0] * 2 * len(kernel)), attr(node, "dilations", [1] * len(kernel))
    return any((k - 1) * dilations[i] + 1 > d + pads[i] + pads[i + len(kernel)] for i, (k, d) in enumerate(zip(kernel, run[node.input[0]].shape[2:])))


def copies(node, run):
    return not attr(node, "allowzero", 0) and 0 in np.asarray(run[node.input[1]]) if node.input[1] in run else False


refusal(("ArgMax", "ArgMin", "DFT", "Concat", "LpPool", "MaxPool", "AveragePool", "Conv", "ConvInteger", "Pad", "SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"), "", empty, "ONNX Runtime does not look at what has no elements")
refusal(("Attention",), "batch of q and k", lambda n, r: True, "the standard wants one batch; ONNX Runtime does not compare them")
refusal(("Reshape",), "", copies, "a size that turns out to be 0 copies a dim: refused, as it is hardly ever meant (doc/sym.md)")
refusal(("Reshape",), "nothing tells when another is 0", lambda n, r: attr(n, "allowzero", 0), "-1 beside a 0 that is one: the standard forbids it, ONNX Runtime takes 1")
refusal(("CenterCropPad",), "elements, expected", lambda n, r: True, "the standard wants a size for every axis; in ONNX Runtime one broadcasts")
refusal(("GroupNormalization",), "channels dim", lambda n, r: True, "the standard wants a scale per channel; in ONNX Runtime one for all broadcasts")
refusal(("SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"), "labels differ|weights differ", lambda n, r: True, "ONNX Runtime does not compare the dims of labels and scores")
refusal(("LpPool", "MaxPool", "AveragePool"), "does not fit", lambda n, r: True, "ONNX Runtime rounds a negative number of steps toward zero, and reads one window past the border")
refusal(None, "int32 holds|float32 holds", lambda n, r: True, "numbers that may leave a type in between are refused")
refusal(("GatherND",), "batches differ", lambda n, r: True, "ONNX Runtime does not compare the batches")
refusal(("CenterCropPad", "Expand"), "target size|negative", lambda n, r: True, "a negative size")

failure(None, "Only N can be zero|Only first dimension|Invalid input shape", "pooling and convolution of no elements")
failure(("Conv", "ConvTranspose", "Col2Im", "LayerNormalization", "RMSNormalization", "GroupNormalization"), "Kernel size must be positive|output dimension is <= 0|must be at least 1, got 0|must be a positive multiple", "weights or results of no elements")
failure(("MaxPool", "AveragePool", "LpPool"), "padding values must be non-negative", "SAME with strides above the window")
failure(("Resize",), "Scale value should be greater than 0", "a size of 0")
failure(("Resize",), "Cannot scale 0", "nothing, under a policy that keeps the ratio of the sides")
failure(("ConvTranspose",), "output_padding", "padding of the output that ONNX Runtime does not take")
failure(("Attention",), "inconsistent (q_|total_)sequence_length|must be greater than 0", "a mask that broadcasts; sequences of nothing")
failure(("AffineGrid", "Col2Im"), "must be positive", "images of nothing")
failure(("GridSample",), "must be non-empty for sampling", "zeros, around an image of nothing")
failure(("DFT",), "signal dimension must be greater than zero", "zeros appended to a signal of nothing")
failure(("DeformConv",), "must be positive", "weights of nothing")
failure(("TfIdfVectorizer",), "with B > 0", "a batch of nothing")
failure(("Pad",), "Unexpected mode", "ONNX Runtime does not wrap every type")
failure(("QuantizeLinear", "DequantizeLinear"), "scale must be 1D", "a scale of the rank of x, without block_size")
failure(("ConvInteger",), "Non per-tensor", "a zero point per channel")
failure(("Pad",), "reflect|with zero effective", "a mirror image longer than the dim: numpy repeats it, ONNX Runtime refuses")

value(("NonZero",), lambda n, r: r[n.input[0]].ndim == 0 if n.input[0] in r else True, "a scalar gives shape (1, N) in ONNX Runtime; the standard says (0, N)")
value(("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare", "Squeeze"),
      lambda n, r: len(n.input) > 1 and n.input[1] in r and len({a % max(1, r[n.input[0]].ndim) for a in r[n.input[1]].ravel().tolist()}) < r[n.input[1]].size,
      "an axis that a run-time input gives twice: ONNX Runtime takes it as one")
value(("ReduceProd",), lambda n, r: any(np.any(np.asarray(r.get(o, 0)) == 2**31 - 1) for o in n.output), "int32 products saturate in ONNX Runtime; numpy's wrap")
value(("ReduceLogSumExp",), lambda n, r: r[n.input[0]].dtype.kind in "iu" if n.input[0] in r else True, "integers: ONNX Runtime cuts every term")
value(("HannWindow", "HammingWindow", "BlackmanWindow"), lambda n, r: not attr(n, "periodic", 1) and all(np.size(r.get(o, 0)) <= 1 for o in n.output), "one element, not periodic: 0 / 0 in ONNX Runtime")
value(("MatMulInteger",), lambda n, r: n.input[0] in r and r[n.input[0]].ndim and r[n.input[0]].shape[-1] == 0, "ONNX Runtime does not write sums of nothing")
value(("Shape",), lambda n, r: any(r[o].size > 16 for o in n.output), "a rank above Tenon's limit")
value(("Shrink",), lambda n, r: True, "ONNX Runtime rounds doubles to float32")
value(("Slice",), lambda n, r: True if len(n.input) > 4 and n.input[2] and np.any(np.asarray(r.get(n.input[2], 2**31 - 1)) >= 2**31 - 1) else False,
      "step < 0 with end INT_MAX is taken as `to the first element` by ONNX Runtime; the standard clamps it to the last, which leaves nothing")
value(("Loop",), idle, "of scan outputs that no iteration made, ONNX Runtime takes unknown dims as 0")
value(("Resize",), lambda n, r: attr(n, "coordinate_transformation_mode", b"") == b"align_corners", "corners of a result by scales: ONNX Runtime rounds its length first")
value(("Resize",), lambda n, r: n.input[0] in r and any(o in r and r[o].shape == r[n.input[0]].shape for o in n.output), "scales that keep every dim: ONNX Runtime copies, wherever they would sample")
value(("MaxPool", "AveragePool", "LpPool"), lambda n, r: attr(n, "auto_pad", b"").startswith(b"SAME") and any(s > k for s, k in zip(attr(n, "strides", []), attr(n, "kernel_shape", []))),
      "SAME with strides above the window: where ONNX Runtime does not refuse it, it cuts the image at its begin")
value(("MaxPool", "AveragePool", "LpPool"), lambda n, r: n.input[0] in r and overhangs(n, r), "a negative number of steps: ONNX Runtime rounds it toward zero, and reads one window past the border")
value(("MaxPool",), lambda n, r: any(np.any(r[o] < 0) for o in n.output[1:] if o in r), "a window of nothing but padding: its place in ONNX Runtime is in front of the image")
value(("Resize",), lambda n, r: any(a < 0 for a in attr(n, "axes", [])) and attr(n, "keep_aspect_ratio_policy", b"stretch") != b"stretch",
      "ONNX Runtime does not know negative axes in this mode")
