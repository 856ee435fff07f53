#!/usr/bin/env python3
# needs: numpy onnx
"""Writes dynamic.onnx and dynamic.shapes: a small model of our own with dynamic batch, image size and sequence length.

    make_example.py [FOLDER]      the same bytes every time

An image of any size goes through convolutions, pooling and a resize back to the height and width it came with; token ids
of any number go through an embedding, one layer of attention whose shapes are computed by Shape, Gather and Concat as
exporters write it, and a feed-forward layer. Both are pooled and joined into scores.
"""
import os
import sys

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

CHANNELS, WIDTH, HEADS, VOCABULARY, CLASSES = 16, 32, 4, 101, 10
rng = np.random.default_rng(20240229)
weights, nodes, counts = [], [], {}


def weight(name, *shape, scale=None):
    scale = scale if scale is not None else 1 / np.sqrt(np.prod(shape[1:]) if len(shape) > 1 else 1)
    weights.append(numpy_helper.from_array((rng.standard_normal(shape) * scale).astype(np.float32), name))
    return name


def const(name, value, dtype=np.int64):
    weights.append(numpy_helper.from_array(np.array(value, dtype), name))
    return name


def op(kind, *inputs, out=None, outs=1, **attrs):
    counts[kind] = counts.get(kind, 0) + 1
    name = f"/{kind}_{counts[kind]}"
    results = [out] if out else [f"{name}.out{i}" if outs > 1 else f"{name}.out" for i in range(outs)]
    nodes.append(helper.make_node(kind, list(inputs), results, name=name, **attrs))
    return results[0] if len(results) == 1 else results


def image_branch():
    h = op("Conv", "image", weight("conv1.w", CHANNELS, 3, 3, 3), weight("conv1.b", CHANNELS, scale=0.1), strides=[2, 2],
           pads=[1, 1, 1, 1])
    h = op("BatchNormalization", h, const("bn.scale", 1 + 0.1 * rng.standard_normal(CHANNELS), np.float32),
           const("bn.bias", 0.1 * rng.standard_normal(CHANNELS), np.float32),
           const("bn.mean", 0.1 * rng.standard_normal(CHANNELS), np.float32),
           const("bn.var", 1 + 0.1 * rng.random(CHANNELS), np.float32))
    h = op("Relu", h)
    h = op("Conv", h, weight("conv2.w", CHANNELS, 1, 3, 3, scale=0.3), group=CHANNELS, pads=[1, 1, 1, 1])
    h = op("HardSwish", h)
    skip = h
    h = op("MaxPool", h, kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    h = op("Conv", h, weight("conv3.w", WIDTH, CHANNELS, 1, 1), weight("conv3.b", WIDTH, scale=0.1))
    gate = op("Sigmoid", op("GlobalAveragePool", h))
    h = op("Mul", h, gate)
    up = op("Conv", h, weight("conv4.w", CHANNELS, WIDTH, 1, 1))
    size = op("Slice", op("Shape", skip), const("two", [2]), const("four", [4]))
    batch = op("Slice", op("Shape", up), const("zero", [0]), "two")
    up = op("Resize", up, "", "", op("Concat", batch, size, axis=0), mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    merged = op("Add", skip, up)
    logits = op("ConvTranspose", merged, weight("conv5.w", CHANNELS, 1, 2, 2, scale=0.2), strides=[2, 2])
    op("Sigmoid", logits, out="mask")
    return op("Squeeze", op("GlobalAveragePool", h), const("hw", [2, 3]))


def heads(x, dims):
    return op("Transpose", op("Reshape", x, dims), perm=[0, 2, 1, 3])


def token_branch():
    x = op("Gather", weight("embedding", VOCABULARY, WIDTH, scale=0.5), "tokens")
    shape = op("Shape", "tokens")
    batch = op("Unsqueeze", op("Gather", shape, const("i0", 0)), "zero")
    length = op("Unsqueeze", op("Gather", shape, const("i1", 1)), "zero")
    x = op("Add", x, op("Unsqueeze", op("Slice", weight("positions", 64, WIDTH, scale=0.1), "zero", length), "zero"))
    split = op("Concat", batch, length, const("heads", [HEADS]), const("minus", [-1]), axis=0)
    n = op("LayerNormalization", x, const("ln.scale", np.ones(WIDTH), np.float32), weight("ln.bias", WIDTH, scale=0.1))
    qkv = op("Add", op("MatMul", n, weight("qkv.w", WIDTH, 3 * WIDTH, scale=0.2)), weight("qkv.b", 3 * WIDTH, scale=0.1))
    q, k, v = op("Split", qkv, const("thirds", [WIDTH, WIDTH, WIDTH]), outs=3, axis=-1)
    q, k, v = heads(q, split), heads(k, split), heads(v, split)
    scores = op("Mul", op("MatMul", q, op("Transpose", k, perm=[0, 1, 3, 2])),
                const("scale", 1 / np.sqrt(WIDTH // HEADS), np.float32))
    keep = op("Unsqueeze", op("Greater", "tokens", "i0"), const("axes", [1, 2]))
    scores = op("Where", keep, scores, const("low", -1e4, np.float32))
    mixed = op("Transpose", op("MatMul", op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    mixed = op("Reshape", mixed, op("Concat", batch, length, const("width", [WIDTH]), axis=0))
    x = op("Add", x, op("MatMul", mixed, weight("out.w", WIDTH, WIDTH)))
    h = op("MatMul", x, weight("up.w", WIDTH, 2 * WIDTH))
    h = op("Mul", h, op("Sigmoid", h))
    x = op("Add", x, op("MatMul", h, weight("down.w", 2 * WIDTH, WIDTH)), out="states")
    return op("ReduceMean", x, axes=[1], keepdims=0)


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    joined = op("Concat", image_branch(), token_branch(), axis=1)
    op("Softmax", op("Gemm", joined, weight("head.w", 2 * WIDTH, CLASSES), weight("head.b", CLASSES, scale=0.1)),
       out="scores", axis=-1)
    inputs = [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, "height", "width"]),
              helper.make_tensor_value_info("tokens", TensorProto.INT64, ["batch", "length"])]
    outputs = [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch", CLASSES]),
               helper.make_tensor_value_info("states", TensorProto.FLOAT, ["batch", "length", WIDTH]),
               helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["batch", 1, None, None])]
    graph = helper.make_graph(nodes, "dynamic", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="make_example.py")
    model.ir_version = 8
    checker.check_model(model, full_check=True)
    with open(os.path.join(folder, "dynamic.onnx"), "wb") as file:
        file.write(model.SerializeToString(deterministic=True))
    with open(os.path.join(folder, "dynamic.shapes"), "w") as file:
        file.write("image=random:1x3x64x64 tokens=random:1x8\n"
                   "image=random:2x3x96x160 tokens=random:2x21\n"
                   "image=random:5x3x31x47 tokens=random:5x1\n")


main()
