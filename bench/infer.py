#!/usr/bin/env python3
"""Shape inference side by side: `tenon infer`, onnx.shape_inference (C++) and ONNX Runtime's symbolic script, on a chain
of attention-like layers (Shape, Gather, Concat, Reshape, Transpose, ...), reading and writing included.

    bench/infer.py TENON

Each side reads the file and gives all shapes back: Tenon prints them; onnx writes a model (infer_shapes_path with
data_prop, without which it finds none of these); the script returns one. All are given 13,000 nodes; Tenon 10,000 and
1,000,000 too. What is compared runs in turn, and each round has a ratio: its median is printed, with the least and the
largest. Times are processor time; a run of the other side comes before the one that counts, as the system may first
have to find the memory. Python has started and imported what it needs when the others' time begins: Tenon's is that of
its whole process, less that of a model of ten nodes. Memory is the largest resident set of the `tenon` process, mapped
file included, above that of forty layers. TENON is a build without TENON_DEBUG, which checks the graph after each pass."""
# needs: numpy onnx onnxruntime sympy
import fcntl
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

LAYER = 13


# The wire format of ModelProto, written directly: a million NodeProto objects would take most of the time.


def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def data(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def integer(field, v):
    return varint(field << 3) + varint(v)


def node(op, inputs, output, *attributes):
    body = b"".join(data(1, i) for i in inputs) + data(2, output) + data(3, output) + data(4, op)
    return data(1, body + b"".join(data(5, a) for a in attributes))


def axis(v):
    return data(1, "axis") + integer(3, v) + integer(20, 2)


def perm(*order):
    return data(1, "perm") + b"".join(integer(8, v) for v in order) + integer(20, 7)


def const(name, values, scalar=False):
    dims = b"" if scalar else integer(1, len(values))
    return data(5, dims + integer(2, 7) + data(8, name) + data(9, struct.pack("<%dq" % len(values), *values)))


def port(name, dims):
    shape = b"".join(data(1, data(2, d) if isinstance(d, str) else integer(1, d)) for d in dims)
    return data(1, name) + data(2, data(1, integer(1, 1) + data(2, shape)))


def layer(x, p):
    """[B, S, 64] to [B, S, 4, 16], heads first, and back."""
    yield node("Shape", [x], p + "shape")
    yield node("Gather", [p + "shape", "zero"], p + "b", axis(0))
    yield node("Gather", [p + "shape", "one"], p + "s", axis(0))
    yield node("Unsqueeze", [p + "b", "first"], p + "b1")
    yield node("Unsqueeze", [p + "s", "first"], p + "s1")
    yield node("Concat", [p + "b1", p + "s1", "heads", "width"], p + "split", axis(0))
    yield node("Reshape", [x, p + "split"], p + "q")
    yield node("Transpose", [p + "q"], p + "qt", perm(0, 2, 1, 3))
    yield node("Transpose", [p + "qt"], p + "k", perm(0, 2, 1, 3))
    yield node("Concat", [p + "b1", p + "s1", "hidden"], p + "join", axis(0))
    yield node("Reshape", [p + "k", p + "join"], p + "r")
    yield node("Add", [x, p + "r"], p + "sum")
    yield node("Relu", [p + "sum"], p + "y")


def write_model(path, nodes):
    x, parts = "x", []
    for i in range(nodes // LAYER):
        p = "l%d/" % i
        parts.extend(layer(x, p))
        x = p + "y"
    parts.append(data(2, "chain"))
    parts += [const("zero", [0], True), const("one", [1], True), const("first", [0]), const("heads", [4]),
              const("width", [16]), const("hidden", [64])]
    parts += [data(11, port("x", ["B", "S", 64])), data(12, port(x, ["B", "S", 64]))]
    with open(path, "wb") as f:
        f.write(integer(1, 8) + data(7, b"".join(parts)) + data(8, data(1, "") + integer(2, 18)))
    return nodes // LAYER * LAYER


def run_tenon(tenon, path):
    process = subprocess.Popen([tenon, "infer", path], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("tenon infer failed on %s" % path)
    return usage.ru_utime + usage.ru_stime


def memory_of_tenon(tenon, path):
    """The table is written when all work is done, and does not fit into the pipe: the process waits with it."""
    end, start = os.pipe()
    fcntl.fcntl(end, 1031, 4096)  # F_SETPIPE_SZ
    process = subprocess.Popen([tenon, "infer", path], stdout=start)
    os.close(start)
    os.read(end, 1)
    with open("/proc/%d/status" % process.pid) as f:
        peak = next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM:"))
    while os.read(end, 1 << 20):
        pass
    os.close(end)
    process.wait()
    return peak


def run_onnx(path):
    import onnx.shape_inference
    start = time.process_time()
    onnx.shape_inference.infer_shapes_path(path, path + ".out", data_prop=True)
    return time.process_time() - start


def run_script(path):
    import onnx
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference
    start = time.process_time()
    SymbolicShapeInference.infer_shapes(onnx.load(path))
    return time.process_time() - start


def seconds_of(run, times):
    return sum(run() for _ in range(times)) / times


def compare(one, other, rounds, times=1):
    """Ratios of the time of `other` to that of `one`, which runs `times` times a round; and the median time of `one`."""
    ratios, own = [], []
    for _ in range(rounds):
        own.append(seconds_of(one, times))
        other()
        ratios.append(other() / own[-1])
    return sorted(ratios), statistics.median(own)


def write_small_model(path):
    with open(path, "wb") as f:
        graph = node("Relu", ["x"], "y0") + b"".join(node("Relu", ["y%d" % i], "y%d" % (i + 1)) for i in range(9))
        graph += data(2, "ten") + data(11, port("x", ["B"])) + data(12, port("y9", ["B"]))
        f.write(integer(1, 8) + data(7, graph) + data(8, data(1, "") + integer(2, 18)))


def show(what, ratios, asked):
    print("%-58s %7.2f   (%.2f to %.2f; asked: %s)" %
          (what, statistics.median(ratios), ratios[0], ratios[-1], asked), flush=True)


def main():
    tenon = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        path = lambda nodes: os.path.join(folder, "%d.onnx" % nodes)
        write_small_model(path(10))
        start = statistics.median(run_tenon(tenon, path(10)) for _ in range(41))
        nodes = {n: write_model(path(n), n) for n in (40 * LAYER, 10000, 13000, 1000000)}
        own = lambda n: (run_tenon(tenon, path(n)) - start) / nodes[n]
        empty = memory_of_tenon(tenon, path(40 * LAYER))
        print("ten nodes: %.2f ms, taken off below" % (start * 1e3))
        theirs, mine = compare(lambda: own(13000), lambda: run_onnx(path(13000)) / nodes[13000], 9, 4)
        print("13,000 nodes: %.2f us per node" % (mine * 1e6))
        show("onnx.shape_inference / tenon, 13,000 nodes", theirs, "at least 4")
        theirs, _ = compare(lambda: own(13000), lambda: run_script(path(13000)) / nodes[13000], 7, 20)
        show("onnxruntime's script / tenon, 13,000 nodes", theirs, "at least 100")
        larger, _ = compare(lambda: own(10000), lambda: own(1000000), 9, 100)
        show("tenon, per node: 1,000,000 / 10,000 nodes", larger, "at most 1.3")
        for n in (13000, 1000000):
            print("%9d nodes: %.0f bytes per node (asked: below 1,536)" %
                  (n, (memory_of_tenon(tenon, path(n)) - empty) / nodes[n]))


if __name__ == "__main__":
    main()
