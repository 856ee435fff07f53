#!/usr/bin/env python3
"""Time of every operator at an input of about 1 MiB: Tenon's general engine against ONNX Runtime, one thread, in one run.

    bench/operators.py TENON [--rounds 3] [--repeat 20] [--only WORD] [--limit 5] [--json] [--busy]

Each case is a model of one node, or of few where an operand is no tensor. Both sides run in turns; a figure is the least
time of a run, as the side's own profiler gives it for the nodes, graph optimisation off. Cases above the limit are named at
the end, with the reason where one is known. On a busy machine, --busy takes the processor time of whole calls instead. The exit status is 1 when one has none, and when an operator that `tenon ops`
lists has neither a case nor a reason."""
# needs: numpy onnx onnxruntime
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

rng = np.random.default_rng(1)
cases = []

# Cases that may be slower than the limit: name -> why.
REASONS = {
    "QLinearGlobalAveragePool ms": "numbers are dequantised first; ONNX Runtime sums the bytes",
    "QLinearAdd ms": "divides by the scale, as the standard says; ONNX Runtime multiplies by quotients of scales",
}
# Operators without a case: name -> why.
WITHOUT = {
    "If": "the time is that of its bodies", "Loop": "the time is that of its body", "Scan": "the time is that of its body",
    "SequenceMap": "the time is that of its body", "Gradient": "becomes other operators when the model is read",
    "Constant": "is data of the program", "SequenceEmpty": "makes nothing",
    "CastMap": "its input is a map", "DictVectorizer": "its input is a map",
    "ImageDecoder": "the time is that of the system's library",
}


def case(op, inputs, label="", outputs=1, constants=(), domain="", ai_opset=21, version=1, **attrs):
    """inputs: arrays (None = absent) in order; constants: numbers of those that are initializers."""
    cases.append({"name": (op + " " + label).strip(), "op": op, "inputs": inputs, "outputs": outputs, "constants": constants,
                  "domain": domain, "opset": ai_opset, "version": version, "attrs": attrs})


def ms(op, inputs, label="", **rest):
    case(op, inputs, ("ms " + label).strip(), domain="com.microsoft", **rest)


def graph(op, text, *inputs, opset=21):
    """A model of several nodes, as onnx.parser reads it; x0, x1, ... are the inputs."""
    cases.append({"name": op, "op": op, "inputs": list(inputs), "constants": (), "domain": "", "text": '<ir_version: 10, opset_import: ["": %d]> g %s' % (opset, text)})


def real(*shape):
    return rng.standard_normal(shape).astype("f4")


def unit(*shape):
    return rng.uniform(0.01, 0.99, shape).astype("f4")


def ints(low, high, shape, dtype="i8"):
    return rng.integers(low, high, shape).astype(dtype)


N = 262144  # f32 elements of 1 MiB
I64 = lambda *v: np.array(v, "i8")
F32 = lambda *v: np.array(v, "f4")
scalar = lambda v, dtype="f4": np.array(v, dtype)


def elementwise():
    x = real(512, 512)
    for op in ("Abs Neg Sign Relu Ceil Floor Round Exp Sin Cos Tan Atan Sinh Cosh Tanh Asinh Erf Sigmoid Softplus Softsign "
               "Mish HardSwish Elu Celu Selu LeakyRelu ThresholdedRelu HardSigmoid Gelu Shrink IsNaN IsInf Identity Dropout").split():
        case(op, [x])
    case("Gelu", [x], "tanh", approximate="tanh")
    for op in "Log Sqrt Reciprocal Asin Acos Atanh".split():
        case(op, [unit(512, 512)])
    case("Acosh", [unit(512, 512) + 1])
    case("Swish", [x], ai_opset=24)
    case("SwiGLU", [x, x], ai_opset=28)
    for op in "Relu Sigmoid Tanh Exp Sqrt".split():
        case(op, [np.abs(real(1024, 512)).astype("f2")], "f16")
    case("Not", [ints(0, 2, (1024, 1024), "?")])
    case("BitwiseNot", [ints(0, 99, (512, 512), "i4")])
    for op in "Add Sub Mul Div Max Min Pow".split():
        case(op, [unit(512, 512), unit(512, 512)])
        case(op, [unit(512, 512), unit(512)], "row")
    case("Add", [x, unit(512, 1)], "column")
    case("Mul", [x, F32(2)], "scalar")
    case("Add", [x.astype("f2"), x.astype("f2")], "f16")
    for dtype in "i4 i8".split():
        a, b = ints(1, 99, (512, 512), dtype), ints(1, 9, (512, 512), dtype)
        for op in "Add Mul Div Mod Max".split():
            case(op, [a, b], dtype)
    case("Pow", [x, scalar(2)], "square")
    case("Pow", [ints(1, 9, (512, 512)), ints(0, 4, (512, 512))], "i8")
    case("Mod", [unit(512, 512), unit(512, 512)], "fmod", fmod=1)
    case("PRelu", [x, real(512)])
    case("Sum", [x, x, x])
    case("Mean", [x, x, x])
    for op in "Equal Less LessOrEqual Greater GreaterOrEqual".split():
        case(op, [x, real(512, 512)])
    for op in "And Or Xor".split():
        case(op, [ints(0, 2, (1024, 1024), "?"), ints(0, 2, (1024, 1024), "?")])
    for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
        case(op, [ints(0, 99, (512, 512), "i4"), ints(0, 99, (512, 512), "i4")])
    case("BitShift", [ints(0, 99, (512, 512), "u4"), ints(0, 9, (512, 512), "u4")], direction="LEFT")
    case("Where", [ints(0, 2, (512, 512), "?"), x, real(512, 512)])
    case("Where", [ints(0, 2, (512, 512), "?"), x, scalar(1)], "scalar")
    case("Clip", [x, scalar(-1), scalar(1)])
    for to in "FLOAT16 BFLOAT16 DOUBLE INT64 INT32 INT8 UINT8 BOOL FLOAT8E4M3FN STRING".split():
        case("Cast", [x if to != "STRING" else real(64, 64)], "f32 to " + to.lower(), to=getattr(TensorProto, to))
    for dtype in "f2 f8 i8 i4 u1 ?".split():
        case("Cast", [ints(0, 2, (512, 512), dtype)], dtype + " to f32", to=TensorProto.FLOAT)
    case("Cast", [ints(0, 2, (512, 512))], "i8 to i4", to=TensorProto.INT32)
    case("CastLike", [x, ints(0, 2, (1,))])
    case("BitCast", [x], ai_opset=26, to=TensorProto.INT32)


def reductions():
    x = unit(512, 512)
    for op in "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split():
        for label, axes in (("last", [1]), ("first", [0]), ("all", [])):
            case("Reduce" + op, [x] + ([I64(*axes)] if axes else []), label)
    case("ReduceMean", [unit(16, 32, 512), I64(1)], "middle")
    case("ReduceSum", [ints(0, 99, (512, 512)), I64(1)], "i8")
    case("ReduceMax", [ints(0, 99, (512, 512), "i4"), I64(1)], "i4")
    for op in "ArgMax ArgMin".split():
        for axis in (0, 1):
            case(op, [x], "axis %d" % axis, axis=axis)
    for op in "Softmax LogSoftmax Hardmax".split():
        for axis in (0, 1):
            case(op, [x], "axis %d" % axis, axis=axis)
    for op in "CumSum".split():
        for axis in (0, 1):
            case(op, [x, scalar(axis, "i8")], "axis %d" % axis)
    case("CumProd", [x, scalar(1, "i8")], ai_opset=26)
    for axis in (0, 1):
        case("TopK", [x, I64(10)], "10, axis %d" % axis, outputs=2, axis=axis)
    case("TopK", [x, I64(512)], "sort", outputs=2)
    case("TopK", [real(N), I64(100)], "of one line", outputs=2)
    case("LpNormalization", [x])
    case("MeanVarianceNormalization", [unit(4, 16, 64, 64)])
    case("Unique", [ints(0, 1000, (131072,))], outputs=4)
    case("Unique", [ints(0, 3, (16384, 8))], "rows", outputs=4, axis=0)
    case("NonZero", [ints(0, 2, (512, 512)).astype("f4")])


def products():
    case("MatMul", [real(512, 512), real(512, 512)], constants=(1,))
    case("MatMul", [real(512, 512), real(512, 512)], "both data")
    case("MatMul", [real(16, 128, 128), real(16, 128, 128)], "batch")
    case("MatMul", [real(1, 512), real(512, 512)], "row", constants=(1,))
    case("MatMul", [real(512, 512).astype("f8"), real(512, 512).astype("f8")], "f64", constants=(1,))
    case("Gemm", [real(512, 512), real(512, 512), real(512)], constants=(1, 2), transB=1)
    case("Einsum", [real(16, 128, 128), real(16, 128, 128)], "bij,bjk->bik", equation="bij,bjk->bik")
    case("Einsum", [real(8, 64, 8, 64), real(8, 64, 8, 64)], "attention", equation="bqhd,bkhd->bhqk")
    case("Einsum", [real(512, 512)], "transpose", equation="ij->ji")
    case("MatMulInteger", [ints(0, 255, (512, 512), "u1"), ints(-127, 127, (512, 512), "i1"), scalar(3, "u1"), scalar(0, "i1")], constants=(1, 2, 3))
    s, z = scalar(0.02), scalar(3, "u1")
    case("QLinearMatMul", [ints(0, 255, (512, 512), "u1"), s, z, ints(0, 255, (512, 512), "u1"), s, z, scalar(5.0), z], constants=(1, 2, 3, 4, 5, 6, 7))
    image = real(1, 64, 64, 64)
    case("Conv", [image, real(64, 64, 3, 3), real(64)], "3x3", constants=(1, 2), pads=[1, 1, 1, 1])
    case("Conv", [image, real(64, 64, 1, 1)], "1x1", constants=(1,))
    case("Conv", [image, real(64, 1, 3, 3)], "depthwise", constants=(1,), group=64, pads=[1, 1, 1, 1])
    case("Conv", [image, real(64, 16, 3, 3)], "4 groups", constants=(1,), group=4, pads=[1, 1, 1, 1])
    case("Conv", [image, real(64, 64, 3, 3)], "stride 2", constants=(1,), strides=[2, 2])
    case("Conv", [image, real(32, 64, 3, 3)], "dilated", constants=(1,), dilations=[2, 2])
    case("Conv", [real(1, 64, 4096), real(64, 64, 3)], "1-d", constants=(1,))
    case("Conv", [real(1, 8, 32, 32, 32), real(8, 8, 3, 3, 3)], "3-d", constants=(1,))
    case("ConvTranspose", [real(1, 32, 64, 64), real(32, 16, 3, 3)], constants=(1,))
    case("ConvTranspose", [real(1, 32, 64, 64), real(32, 16, 2, 2)], "stride 2", constants=(1,), strides=[2, 2])
    pixels, weights = ints(0, 255, (1, 64, 64, 64), "u1"), ints(0, 255, (64, 64, 3, 3), "u1")
    case("ConvInteger", [pixels, weights, z], constants=(1, 2), pads=[1, 1, 1, 1])
    case("QLinearConv", [pixels, s, z, weights, s, z, scalar(5.0), z], constants=(1, 2, 3, 4, 5, 6, 7), pads=[1, 1, 1, 1])
    case("DeformConv", [real(1, 16, 64, 64), real(16, 16, 3, 3), real(1, 18, 64, 64)], ai_opset=22, constants=(1,), pads=[1, 1, 1, 1])
    case("CausalConvWithState", [real(1, 256, 1024), real(256, 1, 4)], ai_opset=27, constants=(1,))
    case("Det", [real(1024, 16, 16)])


def networks():
    image = real(1, 64, 64, 64)
    for op in "MaxPool AveragePool LpPool".split():
        case(op, [image], "3x3", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        case(op, [image], "2x2 stride 2", kernel_shape=[2, 2], strides=[2, 2])
    case("MaxPool", [image], "indices", outputs=2, kernel_shape=[2, 2], strides=[2, 2])
    for op in "GlobalMaxPool GlobalAveragePool GlobalLpPool".split():
        case(op, [image])
    at = (np.arange(64 * 32 * 32) * 4).reshape(1, 64, 32, 32).astype("i8")
    case("MaxUnpool", [real(1, 64, 32, 32), at], kernel_shape=[2, 2], strides=[2, 2])
    c = lambda n: unit(n)
    case("BatchNormalization", [image, c(64), c(64), c(64), c(64)], constants=(1, 2, 3, 4))
    case("InstanceNormalization", [image, c(64), c(64)], constants=(1, 2))
    case("GroupNormalization", [image, c(64), c(64)], constants=(1, 2), num_groups=8)
    case("LayerNormalization", [real(512, 512), c(512), c(512)], constants=(1, 2))
    case("RMSNormalization", [real(512, 512), c(512)], ai_opset=23, constants=(1,))
    case("LRN", [image], size=5)
    hidden = 64
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        case(op, [real(64, 32, 128), real(1, gates * hidden, 128), real(1, gates * hidden, hidden), real(1, 2 * gates * hidden)], constants=(1, 2, 3), hidden_size=hidden)
    q = real(1, 8, 256, 64)
    case("Attention", [q, q, q], ai_opset=23)
    case("Attention", [q, q, q], "causal", ai_opset=23, is_causal=1)
    case("RotaryEmbedding", [q, real(256, 32), real(256, 32), ints(0, 256, (1, 256))], ai_opset=23)
    case("LinearAttention", [real(1, 128, 256), real(1, 128, 256), real(1, 128, 256), None, real(1, 128, 4), unit(1, 128, 4)], ai_opset=27, q_num_heads=4, kv_num_heads=4)
    labels = ints(0, 128, (2048,))
    case("NegativeLogLikelihoodLoss", [real(2048, 128), labels])
    case("SoftmaxCrossEntropyLoss", [real(2048, 128), labels])
    case("GridSample", [real(1, 16, 128, 128), rng.uniform(-1, 1, (1, 128, 128, 2)).astype("f4")], "bilinear")
    case("GridSample", [real(1, 16, 128, 128), rng.uniform(-1, 1, (1, 128, 128, 2)).astype("f4")], "nearest", mode="nearest")
    case("GridSample", [real(1, 16, 128, 128), rng.uniform(-1, 1, (1, 128, 128, 2)).astype("f4")], "cubic", mode="cubic")
    case("AffineGrid", [real(4, 2, 3), I64(4, 3, 128, 128)])
    rois = np.sort(rng.uniform(0, 64, (64, 2, 2)), axis=1).reshape(64, 4).astype("f4")
    case("RoiAlign", [image, rois, np.zeros(64, "i8")], output_height=7, output_width=7, spatial_scale=1.0)
    case("MaxRoiPool", [image, np.concatenate([np.zeros((64, 1), "f4"), rois], 1)], pooled_shape=[7, 7])
    up = F32(1, 1, 2, 2)
    for mode in "nearest linear cubic".split():
        case("Resize", [real(1, 16, 128, 128), None, up], mode, constants=(2,), mode=mode)
    case("Resize", [real(1, 16, 128, 128), None, F32(1, 1, 0.5, 0.5)], "linear down", constants=(2,), mode="linear")
    case("Resize", [real(1, 16, 128, 128), None, F32(1, 1, 0.5, 0.5)], "linear antialias", constants=(2,), mode="linear", antialias=1)
    case("Upsample", [real(1, 16, 128, 128), up], ai_opset=9, constants=(1,), mode="nearest")
    boxes = np.sort(rng.uniform(0, 64, (1, 2048, 2, 2)), axis=2).reshape(1, 2048, 4).astype("f4")
    case("NonMaxSuppression", [boxes, unit(1, 4, 2048), scalar(50, "i8"), scalar(0.5), scalar(0.1)])
    case("Col2Im", [real(1, 16 * 9, 3844), I64(64, 64), I64(3, 3)])


def movement():
    x, image = real(512, 512), real(1, 64, 64, 64)
    case("Transpose", [x])
    case("Transpose", [real(16, 128, 128)], "0 2 1", perm=[0, 2, 1])
    case("Transpose", [image], "to channels last", perm=[0, 2, 3, 1])
    case("Transpose", [real(8, 64, 8, 64)], "heads", perm=[0, 2, 1, 3])
    case("Transpose", [ints(0, 255, (1024, 1024), "u1")], "u1")
    case("Transpose", [x.astype("f2")], "f16")
    case("Reshape", [x, I64(256, 1024)])
    case("Flatten", [image])
    case("Squeeze", [real(1, N), I64(0)])
    case("Unsqueeze", [x, I64(0)])
    for axis in (0, 1):
        case("Concat", [real(512, 256), real(512, 256)], "axis %d" % axis, axis=axis)
        case("Split", [x], "axis %d" % axis, outputs=2, axis=axis, num_outputs=2)
    case("Slice", [x, I64(0), I64(256), I64(1)], "columns")
    case("Slice", [x, I64(0), I64(512), I64(1), I64(2)], "step 2")
    case("Slice", [x, I64(-1), I64(-1000), I64(1), I64(-1)], "backwards")
    case("Gather", [x, ints(0, 512, (512,))], "rows")
    case("Gather", [x, ints(0, 512, (512,))], "columns", axis=1)
    case("GatherElements", [x, ints(0, 512, (512, 512))], axis=1)
    case("GatherND", [x, ints(0, 512, (65536, 2))], "elements")
    case("GatherND", [x, ints(0, 512, (512, 1))], "rows")
    case("ScatterElements", [x, ints(0, 512, (512, 512)), x], axis=1, reduction="add")
    case("ScatterElements", [x, np.tile(rng.permutation(512), (512, 1)).astype("i8"), x], "none", axis=1)
    case("ScatterND", [x, rng.permutation(512).reshape(512, 1).astype("i8"), x])
    case("TensorScatter", [real(4, 8, 512, 16), real(4, 8, 1, 16), ints(0, 512, (4,))], ai_opset=24, axis=2)
    case("Tile", [real(64, 512), I64(8, 1)])
    case("Tile", [real(512, 64), I64(1, 8)], "inner")
    case("Expand", [real(512, 1), I64(512, 512)])
    case("Expand", [real(1, 512), I64(512, 512)], "rows")
    for mode in "constant reflect edge wrap".split():
        case("Pad", [image, I64(0, 0, 1, 1, 0, 0, 1, 1)], mode, mode=mode)
    case("CenterCropPad", [image, I64(60, 60)], axes=[2, 3])
    for mode in "DCR CRD".split():
        case("DepthToSpace", [image], mode, blocksize=2, mode=mode)
    case("SpaceToDepth", [image], blocksize=2)
    case("ReverseSequence", [real(64, 64, 64), ints(1, 65, (64,))])
    case("OneHot", [ints(0, 128, (2048,)), scalar(128, "i8"), F32(0, 1)])
    case("EyeLike", [x])
    case("Trilu", [x])
    case("Scatter", [x, np.tile(rng.permutation(512), (512, 1)).astype("i8"), x], ai_opset=10, axis=1)
    case("Compress", [x, ints(0, 2, (512,), "?")], axis=0)
    case("Compress", [x, ints(0, 2, (512,), "?")], "columns", axis=1)
    case("Range", [scalar(0, "i8"), scalar(131072, "i8"), scalar(1, "i8")])
    case("ConstantOfShape", [I64(512, 512)])
    case("Shape", [x])
    case("Size", [x])
    case("SequenceConstruct", [x, x])
    plane = "float[512,512]"
    two = "(%s x0, %s x1, int64 x2) => " % (plane, plane)
    graph("SequenceAt", two + "(%s y) { s = SequenceConstruct(x0, x1) y = SequenceAt(s, x2) }" % plane, x, x, scalar(1, "i8"))
    graph("SequenceInsert", two + "(seq(%s) y) { s = SequenceConstruct(x0, x1) y = SequenceInsert(s, x0, x2) }" % plane, x, x, scalar(1, "i8"))
    graph("SequenceErase", two + "(seq(%s) y) { s = SequenceConstruct(x0, x1) y = SequenceErase(s, x2) }" % plane, x, x, scalar(1, "i8"))
    graph("SequenceLength", "(%s x0) => (int64 y) { s = SequenceConstruct(x0, x0) y = SequenceLength(s) }" % plane, x)
    graph("ConcatFromSequence", "(%s x0) => (float[A,B] y) { s = SequenceConstruct(x0, x0) y = ConcatFromSequence <axis = 1> (s) }" % plane, x)
    graph("SplitToSequence", "(%s x0) => (seq(float[A,B]) y) { y = SplitToSequence <axis = 0> (x0) }" % plane, x)
    graph("Optional", "(%s x0) => (optional(%s) y) { y = Optional(x0) }" % (plane, plane), x)
    graph("OptionalGetElement", "(%s x0) => (%s y) { s = Optional(x0) y = OptionalGetElement(s) }" % (plane, plane), x)
    graph("OptionalHasElement", "(%s x0) => (bool y) { s = Optional(x0) y = OptionalHasElement(s) }" % plane, x)
    case("QuantizeLinear", [x, scalar(0.1), scalar(3, "u1")])
    case("QuantizeLinear", [x, unit(512), ints(0, 9, (512,), "u1")], "by column", axis=1)
    case("DequantizeLinear", [ints(0, 255, (1024, 1024), "u1"), scalar(0.1), scalar(3, "u1")])
    case("DequantizeLinear", [ints(0, 255, (1024, 1024), "u1"), unit(1024), ints(0, 9, (1024,), "u1")], "by column", axis=1)
    case("DynamicQuantizeLinear", [x], outputs=3)
    for op, extra in (("RandomNormalLike", {}), ("RandomUniformLike", {})):
        case(op, [x], **extra)
    case("RandomNormal", [], shape=[512, 512])
    case("RandomUniform", [], shape=[512, 512])
    case("Bernoulli", [unit(512, 512)])
    case("Multinomial", [real(512, 512)], sample_size=16)


def signals_and_text():
    case("DFT", [real(128, 2048, 1)], ai_opset=20)
    case("DFT", [real(128, 2000, 1)], "2000", ai_opset=20)
    case("STFT", [real(1, 65536, 1), scalar(256, "i8"), None, scalar(512, "i8")])
    for op in "HannWindow HammingWindow BlackmanWindow".split():
        case(op, [scalar(N, "i8")])
    case("MelWeightMatrix", [scalar(128, "i8"), scalar(2048, "i8"), scalar(16000, "i8"), scalar(20.0), scalar(8000.0)])
    words = np.array(["word %d" % (i % 1000) for i in range(65536)], dtype=object)
    case("StringNormalizer", [words], case_change_action="UPPER", locale="C")
    case("StringConcat", [words, words])
    case("StringSplit", [words], outputs=2)
    case("RegexFullMatch", [words], pattern=r"word [0-9]+")
    case("Equal", [words, words], "strings")
    case("TfIdfVectorizer", [ints(0, 100, (512, 256))], mode="TF", min_gram_length=1, max_gram_length=2, max_skip_count=0,
         ngram_counts=[0, 4], ngram_indexes=list(range(8)), pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7, 8, 9])


def microsoft():
    x, skip, g = real(512, 512), real(512, 512), unit(512)
    for op in "Gelu FastGelu QuickGelu".split():
        ms(op, [x])
    ms("BiasGelu", [x, g])
    batch = real(2, 256, 512)
    ms("SkipLayerNormalization", [batch, real(2, 256, 512), g, g], constants=(2, 3))
    ms("SkipSimplifiedLayerNormalization", [batch, real(2, 256, 512), g], constants=(2,))
    case("SimplifiedLayerNormalization", [x, g], constants=(1,))
    ms("EmbedLayerNormalization", [ints(0, 100, (4, 128), "i4"), ints(0, 2, (4, 128), "i4"), real(100, 512), real(128, 512), real(2, 512), g, g], outputs=2, constants=(2, 3, 4, 5, 6))
    ms("Attention", [real(1, 512, 512), real(512, 1536), real(1536)], constants=(1, 2), num_heads=8)
    ms("MultiHeadAttention", [real(1, 512, 512), real(1, 512, 512), real(1, 512, 512)], num_heads=8)
    past = np.zeros((1, 2, 0, 64), "f4")
    ms("GroupQueryAttention", [real(1, 512, 512), real(1, 512, 128), real(1, 512, 128), past, past, np.array([511], "i4"), np.array(512, "i4")], outputs=3, num_heads=8, kv_num_heads=2)
    ms("RotaryEmbedding", [real(1, 512, 512), ints(0, 512, (1, 512)), real(512, 32), real(512, 32)], num_heads=8)
    ms("FusedMatMul", [real(512, 512), real(512, 512)], transB=1, alpha=0.5)
    ms("FusedGemm", [real(512, 512), real(512, 512), real(512)], constants=(1, 2), activation="Relu")
    ms("FusedConv", [real(1, 64, 64, 64), real(64, 64, 3, 3), real(64)], constants=(1, 2), activation="Relu", pads=[1, 1, 1, 1])
    for bits in (4, 8):
        ms("MatMulNBits", [real(512, 512), ints(0, 255, (512, 16, 4 * bits), "u1"), real(512, 16)], "%d bits" % bits, constants=(1, 2), K=512, N=512, bits=bits, block_size=32)
        ms("MatMulNBits", [real(1, 512), ints(0, 255, (512, 16, 4 * bits), "u1"), real(512, 16)], "%d bits, row" % bits, constants=(1, 2), K=512, N=512, bits=bits, block_size=32)
    ms("GatherBlockQuantized", [ints(0, 255, (1000, 256), "u1"), ints(0, 1000, (512,)), unit(1000, 16)], constants=(0, 2), bits=4, block_size=32, quantize_axis=1, gather_axis=0)
    ms("DynamicQuantizeMatMul", [real(512, 512), ints(0, 255, (512, 512), "u1"), F32(0.02)], constants=(1, 2))
    b, s, z = ints(0, 255, (1024, 1024), "u1"), scalar(0.02), scalar(100, "u1")
    for op in "QLinearAdd QLinearMul".split():
        ms(op, [b, s, z, b, s, z, s, z], constants=(1, 2, 4, 5, 6, 7))
    for op in "QLinearSigmoid QLinearLeakyRelu".split():
        ms(op, [b, s, z, s, z], constants=(1, 2, 3, 4))
    ms("QLinearSoftmax", [b, s, z, scalar(1 / 256), scalar(0, "u1")], constants=(1, 2, 3, 4), opset=13)
    pixels = ints(0, 255, (1, 64, 128, 128), "u1")
    ms("QLinearAveragePool", [pixels, s, z, s, z], constants=(1, 2, 3, 4), kernel_shape=[3, 3])
    ms("QLinearGlobalAveragePool", [pixels, s, z, s, z], constants=(1, 2, 3, 4))
    ms("QLinearConcat", [s, z, b, s, z, b, s, z], constants=(0, 1, 3, 4, 6, 7), axis=0)
    ms("NhwcMaxPool", [ints(0, 255, (1, 128, 128, 64), "u1")], kernel_shape=[2, 2], strides=[2, 2])
    ml = lambda op, inputs, **rest: case(op, inputs, domain="ai.onnx.ml", version=3, **rest)
    ml("Scaler", [x], offset=[0.5] * 512, scale=[2.0] * 512)
    ml("Normalizer", [x], norm="L2")
    ml("Imputer", [x], imputed_value_floats=[1.0], replaced_value_float=0.5)
    ml("Binarizer", [x], threshold=0.1)
    ml("LinearRegressor", [x], coefficients=[0.1] * 512, intercepts=[1.0])
    ml("LinearClassifier", [x], outputs=2, coefficients=[0.1] * 1024, intercepts=[1.0, 2.0], classlabels_ints=[0, 1])
    ml("ArrayFeatureExtractor", [x, ints(0, 512, (256,))])
    ml("OneHotEncoder", [ints(0, 8, (32768,))], cats_int64s=list(range(8)))
    ml("LabelEncoder", [ints(0, 100, (131072,))], keys_int64s=list(range(100)), values_floats=[float(i) for i in range(100)])
    ml("CategoryMapper", [ints(0, 8, (131072,))], cats_int64s=list(range(8)), cats_strings=list("abcdefgh"))
    ml("FeatureVectorizer", [real(512, 256), real(512, 256)], inputdimensions=[256, 256])
    ml("ZipMap", [real(4096, 8)], classlabels_int64s=list(range(8)))
    table = real(16384, 16)
    vectors = dict(kernel_type="RBF", kernel_params=[0.1, 0.0, 3.0], support_vectors=real(64 * 16).tolist())
    ml("SVMRegressor", [table], coefficients=real(64).tolist(), n_supports=64, rho=[0.5], **vectors)
    ml("SVMClassifier", [table], outputs=2, coefficients=real(64).tolist(), vectors_per_class=[32, 32], classlabels_ints=[0, 1], rho=[0.5], **vectors)
    ml("TreeEnsembleRegressor", [table], n_targets=1, **trees("target"))
    ml("TreeEnsembleClassifier", [table], outputs=2, classlabels_int64s=[0], **trees("class"))
    case("TreeEnsemble", [table], domain="ai.onnx.ml", version=5, n_targets=1, **new_trees())
    b, s, z = ints(0, 255, (1024, 1024), "u1"), scalar(0.1), scalar(3, "u1")
    ms("QuantizeLinear", [x, s, z])
    ms("DequantizeLinear", [b, s, z])
    ms("TransposeMatMul", [real(512, 512), real(512, 512)], transB=1)
    ms("SimplifiedLayerNormalization", [x, g], constants=(1,))
    words = np.array(["word %d of many" % (i % 1000) for i in range(16384)], dtype=object)
    ms("Tokenizer", [words], mark=0, mincharnum=1, pad_value="", separators=[" "])


def training():
    x, tensors = real(512, 512), dict(domain="ai.onnx.preview.training", version=1)
    rate, count = scalar(0.1), scalar(3, "i8")
    case("Adagrad", [rate, count, x, x, np.abs(x)], outputs=2, **tensors)
    case("Momentum", [rate, count, x, x, x], outputs=2, alpha=0.9, beta=1.0, mode="standard", norm_coefficient=0.0, **tensors)
    case("Adam", [rate, count, x, x, x, np.abs(x)], outputs=3, **tensors)
    q = real(1, 8, 256, 64)
    case("FlexAttention", [q, q, q], domain="ai.onnx.preview", ai_opset=26, version=1)


DEPTH, TREES = 6, 100  # complete trees
INNER = 2**(DEPTH - 1) - 1  # nodes with children


def trees(prefix):
    """Attributes of the forms before TreeEnsemble: node n has the children 2 n + 1 and 2 n + 2."""
    nodes = [(t, n) for t in range(TREES) for n in range(2**DEPTH - 1)]
    leaves = [(t, n) for t, n in nodes if n >= INNER]
    inner = lambda n: n < INNER
    return {"nodes_treeids": [t for t, _ in nodes], "nodes_nodeids": [n for _, n in nodes],
            "nodes_featureids": [int(v) for v in rng.integers(0, 16, len(nodes))], "nodes_values": real(len(nodes)).tolist(),
            "nodes_modes": ["BRANCH_LEQ" if inner(n) else "LEAF" for _, n in nodes],
            "nodes_truenodeids": [2 * n + 1 if inner(n) else 0 for _, n in nodes],
            "nodes_falsenodeids": [2 * n + 2 if inner(n) else 0 for _, n in nodes],
            prefix + "_treeids": [t for t, _ in leaves], prefix + "_nodeids": [n for _, n in leaves],
            prefix + "_ids": [0] * len(leaves), prefix + "_weights": real(len(leaves)).tolist()}


def new_trees():
    each, leaf = 2**(DEPTH - 1) - 1, lambda n: n >= 2**(DEPTH - 2) - 1  # nodes of a tree; those whose children are leaves
    nodes = [(t, n) for t in range(TREES) for n in range(each)]
    child = lambda t, n, side: t * 2**(DEPTH - 1) + 2 * (n - 2**(DEPTH - 2) + 1) + side if leaf(n) else t * each + 2 * n + 1 + side
    kept = lambda values, kind: helper.make_tensor("t", kind, [len(values)], values)
    n_leaves = TREES * 2**(DEPTH - 1)
    return {"nodes_featureids": [int(v) for v in rng.integers(0, 16, len(nodes))], "nodes_modes": kept([0] * len(nodes), TensorProto.UINT8),
            "nodes_splits": kept(real(len(nodes)).tolist(), TensorProto.FLOAT),
            "nodes_trueleafs": [int(leaf(n)) for _, n in nodes], "nodes_falseleafs": [int(leaf(n)) for _, n in nodes],
            "nodes_truenodeids": [child(t, n, 0) for t, n in nodes], "nodes_falsenodeids": [child(t, n, 1) for t, n in nodes],
            "leaf_targetids": [0] * n_leaves, "leaf_weights": kept(real(n_leaves).tolist(), TensorProto.FLOAT),
            "tree_roots": [t * each for t in range(TREES)]}


def model_of(c):
    names = ["x%d" % i if a is not None else "" for i, a in enumerate(c["inputs"])]
    kind = lambda a: TensorProto.STRING if a.dtype == object else helper.np_dtype_to_tensor_dtype(a.dtype)
    fed = {names[i]: a for i, a in enumerate(c["inputs"]) if a is not None and i not in c["constants"]}
    if "text" in c:
        return onnx.parser.parse_model(c["text"]).SerializeToString(), fed
    node = helper.make_node(c["op"], names, ["y%d" % i for i in range(c["outputs"])], domain=c["domain"], **c["attrs"])
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info(n, kind(a), a.shape) for n, a in fed.items()],
                              [helper.make_empty_tensor_value_info("y%d" % i) for i in range(c["outputs"])],
                              [numpy_helper.from_array(c["inputs"][i], names[i]) for i in c["constants"]])
    opsets = [helper.make_opsetid("", c["opset"])] + ([helper.make_opsetid(c["domain"], c["version"])] if c["domain"] else [])
    proto = helper.make_model(graph, opset_imports=opsets)
    proto.ir_version = 10
    return proto.SerializeToString(), fed


def tenon(program, model, fed, folder, repeat):
    """Microseconds of all nodes in the fastest run."""
    trace = os.path.join(folder, "trace.json")
    command = [program, "run", model, "--threads", "1", "--repeat", str(repeat), "--trace", trace, "--json"]
    for name, a in fed.items():
        path = os.path.join(folder, name + ".npy")
        if not os.path.exists(path):
            np.save(path, a.astype("U") if a.dtype == object else a)
        command += ["--input", "%s=%s" % (name, path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr or done.stdout).strip().splitlines()[-1])
    with open(trace) as file:
        events = json.load(file)["traceEvents"]
    runs = [[e["ts"], e["ts"] + e["dur"], 0] for e in events if e["cat"] == "run"]
    for e in events:
        if e["cat"] != "run":
            middle = e["ts"] + e["dur"] / 2
            min(runs, key=lambda r: max(r[0] - middle, middle - r[1]))[2] += e["dur"]
    return min(r[2] for r in runs)


def session_options():
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


def onnxruntime(data, fed, folder, repeat):
    options = session_options()
    options.enable_profiling, options.profile_file_prefix = True, os.path.join(folder, "ort")
    session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    for _ in range(repeat + 1):
        session.run(None, fed)
    events = json.load(open(session.end_profiling()))
    runs = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            runs.setdefault(event["name"], []).append(event["dur"])
    return min(map(sum, zip(*(durations[1:] for durations in runs.values()))), default=0)


def least(call, repeat):
    """Microseconds of processor time of the calling thread, the least of some calls."""
    times = []
    for _ in range(repeat + 1):
        began = time.thread_time_ns()
        call()
        times.append(time.thread_time_ns() - began)
    return min(times[1:]) / 1e3


def tenon_busy(program, model, fed, folder, repeat):
    if any(a.dtype == object for a in fed.values()):  # as the other side
        return tenon(program, model, fed, folder, repeat)
    import tenon as module
    session = module.compile(model).session(threads=1)
    for name, a in fed.items():
        session.set_input(name, a)
    return least(lambda: module._call(module._lib.tn_session_run, session._handle), repeat)


def onnxruntime_busy(data, fed, folder, repeat):
    if any(a.dtype == object for a in fed.values()):  # texts have no binding
        return onnxruntime(data, fed, folder, repeat)
    session = ort.InferenceSession(data, session_options(), providers=["CPUExecutionProvider"])
    if any("tensor" != o.type.split("(")[0] for o in session.get_outputs()):  # sequences and maps have no binding
        return least(lambda: session.run(None, fed), repeat)
    binding = session.io_binding()
    for name, a in fed.items():
        binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(a))
    for o in session.get_outputs():
        binding.bind_output(o.name)
    return least(lambda: session.run_with_iobinding(binding), repeat)


def measure(options, c):
    data, fed = model_of(c)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        open(path, "wb").write(data)
        row = {"case": c["name"], "tenon_us": None, "onnxruntime_us": None, "note": ""}
        for _ in range(options.rounds):
            ours = (lambda: tenon_busy(options.tenon, path, fed, folder, options.repeat)) if options.busy else lambda: tenon(options.tenon, path, fed, folder, options.repeat)
            theirs = (lambda: onnxruntime_busy(data, fed, folder, options.repeat)) if options.busy else lambda: onnxruntime(data, fed, folder, options.repeat)
            for side, run in (("tenon_us", ours), ("onnxruntime_us", theirs)):
                if row["note"]:
                    break
                try:
                    t = run()
                    row[side] = t if row[side] is None else min(t, row[side])
                except Exception as e:  # one side does not have it
                    row["note"] = "%s: %s" % (side[:-3], str(e).splitlines()[-1][:110])
    if not row["note"]:
        row["ratio"] = row["tenon_us"] / max(row["onnxruntime_us"], 1.0)  # the profiler's clock ticks in microseconds
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", help="the program")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repeat", type=int, default=20, help="runs per round")
    parser.add_argument("--only", default="", help="cases whose name begins with this")
    parser.add_argument("--limit", type=float, default=5)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--busy", action="store_true", help="processor time of whole calls")
    options = parser.parse_args()
    folder = os.path.dirname(os.path.abspath(options.tenon))
    os.environ.setdefault("TENON_LIB", os.path.join(folder, "libtenon.so"))
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "python"))
    for make in (elementwise, reductions, products, networks, movement, signals_and_text, microsoft, training):
        make()
    listed = {line.split()[1] for line in subprocess.run([options.tenon, "ops"], capture_output=True, text=True, check=True).stdout.splitlines()}
    missing = sorted(listed - {c["op"] for c in cases} - set(WITHOUT))
    rows = []
    for c in cases:
        if not c["name"].startswith(options.only):
            continue
        row = measure(options, c)
        rows.append(row)
        if not options.json:
            figures = row["note"] or "%10.0f %10.0f %7.2f" % (row["onnxruntime_us"], row["tenon_us"], row["ratio"])
            print("%-36s %s" % (row["case"], figures), flush=True)
    if options.json:
        print(json.dumps(rows, indent=1))
        return
    both = [r for r in rows if not r["note"]]
    slow = [r for r in both if r["ratio"] > options.limit]
    ratios = [r["ratio"] for r in both] or [0]
    print("%d cases on both sides, %d on one only; ratio: median %.2f, largest %.2f; above %g:" % (
        len(both), len(rows) - len(both), np.median(ratios), max(ratios), options.limit))
    for r in sorted(slow, key=lambda r: -r["ratio"]):
        print("  %-36s %7.2f  %s" % (r["case"], r["ratio"], REASONS.get(r["case"], "")))
    for op in missing:
        print("%s has no case" % op)
    sys.exit(1 if missing or any(r["case"] not in REASONS for r in slow) else 0)


if __name__ == "__main__":
    main()
