#!/usr/bin/env python3
"""Balance of a split by stages: a decoder of 24 layers, or a given model, in 4 stages, each part run alone.

    bench/stages.py TENON [--layers 24] [--stages 4] [--width 256] [--length 64] [--rounds 9]
    bench/stages.py TENON --model FILE.onnx --shapes "x:1,3,640,640" [--stages 4] [--rounds 9]

The stages are made from the cost formulas at the given sizes; each part then runs by itself on one thread, all of them
in turn. Times are of the processor, so that other jobs of the machine count little; the median of the rounds counts.
Prints each stage's time, the slowest over the mean, and with --parts each part's time and operators. Needs onnx and
numpy; libtenon.so stands beside the program."""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper


def decoder(layers, width, path, vocabulary=2000):
    """Token ids to logits: rotary-free attention with a causal mask made of the length, gated blocks, norms before."""
    rng = np.random.default_rng(0)
    heads = width // 64
    nodes, weights = [], []

    def const(name, array):
        weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(op, *inputs, outputs=1, **attributes):
        out = ["%s_%d_%d" % (op, len(nodes), i) for i in range(outputs)]
        nodes.append(helper.make_node(op, list(inputs), out, name="%s_%d" % (op, len(nodes)), **attributes))
        return out[0] if outputs == 1 else out

    def weight(rows, columns):
        return const("w%d" % len(weights), (rng.standard_normal((rows, columns)) / rows**0.5).astype("f4"))

    def norm(x):
        return node("LayerNormalization", x, const("g%d" % len(weights), np.ones(width, "f4")), axis=-1)

    split_heads, join = const("heads", np.int64([0, 0, heads, 64])), const("join", np.int64([0, 0, width]))
    scale = const("scale", np.float32(0.125))
    x = node("Gather", const("table", rng.standard_normal((vocabulary, width)).astype("f4")), "ids")
    size = node("Shape", "ids", start=1, end=2)
    ones = node("ConstantOfShape", node("Concat", size, size, axis=0), value=numpy_helper.from_array(np.float32([-1e9])))
    mask = node("Trilu", ones, const("one", np.int64(1)), upper=1)
    for _ in range(layers):
        h = norm(x)
        q, k, v = (node("Transpose", node("Reshape", node("MatMul", h, weight(width, width)), split_heads), perm=perm)
                   for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        p = node("Softmax", node("Add", node("Mul", node("MatMul", q, k), scale), mask), axis=-1)
        o = node("Reshape", node("Transpose", node("MatMul", p, v), perm=[0, 2, 1, 3]), join)
        x = node("Add", x, node("MatMul", o, weight(width, width)))
        h = norm(x)
        gate = node("MatMul", h, weight(width, 4 * width))
        gate = node("Mul", gate, node("Sigmoid", gate))
        x = node("Add", x, node("MatMul", node("Mul", gate, node("MatMul", h, weight(width, 4 * width))), weight(4 * width, width)))
    logits = node("MatMul", norm(x), weight(width, vocabulary))
    graph = helper.make_graph(nodes, "decoder", [helper.make_tensor_value_info("ids", 7, ["batch", "length"])],
                              [helper.make_tensor_value_info(logits, 1, ["batch", "length", vocabulary])], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon")
    for name, value in (("layers", 24), ("stages", 4), ("width", 256), ("length", 64), ("rounds", 9)):
        parser.add_argument("--" + name, type=int, default=value)
    parser.add_argument("--model")
    parser.add_argument("--shapes", help="of the model's inputs, in float32")
    parser.add_argument("--parts", action="store_true")
    o = parser.parse_args()
    os.environ["TENON_LIB"] = os.path.join(os.path.dirname(os.path.abspath(o.tenon)), "libtenon.so")
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
    import tenon

    with tempfile.TemporaryDirectory() as folder:
        path, parts = o.model or os.path.join(folder, "decoder.onnx"), os.path.join(folder, "parts")
        rng = np.random.default_rng(1)
        if o.model:
            shapes = [item.rsplit(":", 1) for item in o.shapes.split(";")]
            given = {name: rng.standard_normal([int(d) for d in dims.split(",")]).astype("f4") for name, dims in shapes}
            sizes = ["--input-shape", o.shapes]
        else:
            decoder(o.layers, o.width, path)
            given, sizes = {"ids": rng.integers(0, 2000, (1, o.length))}, ["--dim", "batch=1,length=%d" % o.length]
        subprocess.run([o.tenon, "split", path, "-o", parts, "--stages", str(o.stages), *sizes], check=True,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(parts, "manifest.json")) as file:
            manifest = json.load(file)
        values = dict(given)
        runs = []
        for part in manifest["parts"]:
            session = tenon.compile(os.path.join(parts, part["file"])).session(threads=1)
            inputs = {p["name"]: values[p["name"]] for p in part["inputs"]}
            values.update(session.run(inputs))
            runs.append((part, session, []))
        whole = tenon.compile(path).session(threads=1).run(given)
        error = max(np.abs(values[k] - v).max() for k, v in whole.items())
        for _ in range(o.rounds):
            for part, session, times in runs:
                start = time.process_time()
                session.run()
                times.append(time.process_time() - start)
        stages = {}
        for part, _, times in runs:
            stages[part["stage"]] = stages.get(part["stage"], 0) + statistics.median(times)
            if o.parts:
                kinds = [n.op_type for n in onnx.load(os.path.join(parts, part["file"]), load_external_data=False).graph.node]
                print("%s  %7.2f ms  %s" % (part["name"], statistics.median(times) * 1e3, " ".join(kinds)))
    for stage, seconds in sorted(stages.items()):
        print("stage %s  %7.2f ms  in %d part(s)" % (stage, seconds * 1e3, sum(p["stage"] == stage for p, _, _ in runs)))
    print("slowest over mean %.3f; parts against the whole: %.2g" % (max(stages.values()) / statistics.mean(stages.values()), error))


if __name__ == "__main__":
    main()
