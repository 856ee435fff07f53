#!/usr/bin/env python3
"""Running: Tenon against ONNX Runtime in one run, with 1 and 2 threads.

    bench/runtime.py [--threads 1,2] [--soak 10000] [--side 320] [--only PART]... [--json]

Needs TENON (the program), TENON_LIB (the shared library) and TENON_WHEELS (the models), as tools/python_test.sh sets
them. Parts: first (a new shape against the same shape again), load (a program file against a session of ONNX Runtime),
memory (peak resident set over the same shapes, a process each), steps (what a tiny operator costs), soak (resident set
over --soak random shapes, images with sides up to --side), plan (100,000 buffers). A figure beyond its bound is marked,
and the exit status is 1."""
# needs: numpy onnx onnxruntime wheels
import argparse
import glob
import json
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TENON = os.environ.get("TENON", os.path.join(ROOT, "build", "release", "tenon"))
os.environ.setdefault("TENON_LIB", os.path.join(os.path.dirname(TENON), "libtenon.so"))
WHEELS = os.environ.get("TENON_WHEELS", os.path.join(ROOT, "build", "wheels"))
sys.path.insert(0, os.path.join(ROOT, "python"))
import tenon

DET, REC, CLS = "ch_PP-OCRv4_det_infer.onnx", "ch_PP-OCRv4_rec_infer.onnx", "ch_ppocr_mobile_v2.0_cls_infer.onnx"
LIGHT = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")


def wheel(name):
    for folder, _, files in os.walk(WHEELS):
        if name in files:
            return os.path.join(folder, name)
    sys.exit("%s is not in %s (scripts/setup.sh demo brings it)" % (name, WHEELS))


def det_shapes():
    """20 different ones."""
    return [(1, 3, 32 * (4 + i % 7), 32 * (3 + i * 3 % 10)) for i in range(20)]


def rec_shapes():
    return [(1 + i % 4, 3, 48, 64 + 24 * i) for i in range(20)]


def image(shape):
    return np.random.default_rng(shape[2]).uniform(-1, 1, shape).astype("f4")


def theirs(path, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Theirs:
    def __init__(self, path, threads):
        self.session = theirs(path, threads)

    def run(self, inputs):
        return self.session.run(None, inputs)


def ours(path, threads):
    return tenon.compile(path).session(threads=threads)


def timed(session, inputs):
    start = time.perf_counter()
    session.run(inputs)
    return time.perf_counter() - start


def first(threads):
    """Median over shapes of first / steady. What a busy machine adds is taken out: each is the best of three sessions."""
    ratios = []
    for make in (ours, Theirs):
        new, steady = [np.inf] * 20, [np.inf] * 20
        for _ in range(3):
            session = make(wheel(DET), threads)
            session.run({"x": image((1, 3, 96, 96))})  # what is done once in a session is no part of it
            for i, shape in enumerate(det_shapes()):
                inputs = {"x": image(shape)}
                new[i] = min(new[i], timed(session, inputs))
                steady[i] = min([steady[i]] + [timed(session, inputs) for _ in range(3)])
        ratios.append(statistics.median(a / b for a, b in zip(new, steady)))
    return {"tenon": ratios[0], "onnxruntime": ratios[1], "bound": 1.10, "figure": ratios[0]}


def best(work, rounds=5):
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        kept = work()
        times.append(time.perf_counter() - start)
        del kept
    return min(times)


def load(threads):
    """The smallest of how many times faster over the models."""
    rows, paths = {}, [wheel(DET), wheel(REC), wheel(CLS), wheel("silero_vad.onnx")]
    with tempfile.TemporaryDirectory() as folder:
        for path in paths + sorted(glob.glob(os.path.join(LIGHT, "light_*.onnx"))):
            program = os.path.join(folder, "m.tnp")
            tenon.compile(path).save(program)
            ours_s = best(lambda: ours(program, threads))
            rows[os.path.basename(path)] = {"tenon": ours_s * 1e3, "onnxruntime": best(lambda: theirs(path, threads), 3) * 1e3}
    faster = {name: row["onnxruntime"] / row["tenon"] for name, row in rows.items()}
    return {"ms": rows, "times faster": faster, "at least": 20, "figure": min(faster.values())}


PEAK = """
import sys, json
sys.path[:0] = [%(bench)r, %(python)r]
import runtime
kind, path, shapes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
session = runtime.ours(path, %(threads)d) if kind == "tenon" else runtime.Theirs(path, %(threads)d) if kind == "onnxruntime" else None
for shape in shapes:
    x = runtime.image(shape)
    if session: session.run({"x": x})
print([line for line in open("/proc/self/status") if line.startswith("VmHWM")][0].split()[1])
"""


def memory(threads):
    """Peak resident set in MiB beyond that of a process that makes the same inputs; one that has loaded both libraries."""
    text = PEAK % {"bench": os.path.join(ROOT, "bench"), "python": os.path.join(ROOT, "python"), "threads": threads}
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, shapes in ((DET, det_shapes()), (REC, rec_shapes())):
            program = os.path.join(folder, name + ".tnp")
            tenon.compile(wheel(name)).save(program)
            rows[name] = {}
            for kind, path in (("tenon", program), ("onnxruntime", wheel(name)), ("neither", "")):
                out = subprocess.run([sys.executable, "-c", text, kind, path, json.dumps(shapes)], capture_output=True, check=True)
                rows[name][kind] = int(out.stdout) / 1024
    whole = {name: (row["tenon"] - row["neither"]) / (row["onnxruntime"] - row["neither"]) for name, row in rows.items()}
    return {"MiB": rows, "ratio": whole, "bound": 0.5, "figure": max(whole.values())}


def chain(path, n):
    """n tiny operators in a row."""
    nodes = [helper.make_node("Add" if i % 2 else "Mul", ["v%d" % i, "c"], ["v%d" % (i + 1)]) for i in range(n)]
    graph = helper.make_graph(
        nodes, "chain", [helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["N"])],
        [helper.make_tensor_value_info("v%d" % n, TensorProto.FLOAT, ["N"])],
        [helper.make_tensor("c", TensorProto.FLOAT, [1], [0.5])])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def steps(threads):
    """Nanoseconds per step, from the difference of two lengths, so that the way into the library is no part of it. All
    take turns: medians of 41 rounds."""
    x, ns = {"v0": np.ones(16, "f4")}, {"tenon": [], "onnxruntime": []}
    with tempfile.TemporaryDirectory() as folder:
        path, sessions = os.path.join(folder, "m.onnx"), {}
        for n in (10, 1010):
            chain(path, n)
            for name, make in (("tenon", ours), ("onnxruntime", Theirs)):
                sessions[name, n] = make(path, threads)
                sessions[name, n].run(x)
        for _ in range(41):
            for name in ns:
                short, whole = (min(timed(sessions[name, n], x) for _ in range(40)) for n in (10, 1010))
                ns[name].append((whole - short) * 1e6)
    out = {name: statistics.median(times) for name, times in ns.items()}
    return {"ns": out, "bound": 100, "ratio": out["tenon"] / out["onnxruntime"], "ratio bound": 0.2, "figure": out["tenon"]}


def resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def decoder(path):
    """A recurrent decoder with a growing cache: sizes B, S and P vary."""
    w = np.random.default_rng(0).uniform(-0.1, 0.1, (64, 64)).astype("f4")
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["q"]), helper.make_node("Concat", ["past", "q"], ["keys"], axis=1),
        helper.make_node("Transpose", ["keys"], ["t"], perm=[0, 2, 1]), helper.make_node("MatMul", ["q", "t"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1), helper.make_node("MatMul", ["p", "keys"], ["y"])]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "decoder", [value("x", TensorProto.FLOAT, ["B", "S", 64]), value("past", TensorProto.FLOAT, ["B", "P", 64])],
        [value("y", TensorProto.FLOAT, ["B", "S", 64]), value("keys", TensorProto.FLOAT, ["B", "P + S", 64])],
        [onnx.numpy_helper.from_array(w, "w")])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def soak(threads, n, side):
    """Growth of the resident set in percent between a tenth of the shapes and all of them. Images have sides of up to
    `side`, all that detection takes: at most 3 less than a multiple of 32."""
    random = np.random.default_rng(0)

    def image_shape():
        return {"x": (1, 3, *(32 * random.integers(1, side // 32 + 1, 2) - random.integers(0, 4, 2)))}

    def decoder_shapes():
        batch = random.integers(1, 5)
        return {"x": (batch, random.integers(1, 9), 64), "past": (batch, random.integers(0, 257), 64)}

    grown, different = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        decoder(path)
        for name, model, draw, largest in (("decoder", path, decoder_shapes, {"x": (4, 8, 64), "past": (4, 256, 64)}),
                                           ("detection", wheel(DET), image_shape, {"x": (1, 3, side, side)})):
            session, all_shapes = ours(model, threads), [draw() for _ in range(n)]
            different[name] = len({str(shapes) for shapes in all_shapes})
            session.run({key: np.ones(s, "f4") for key, s in largest.items()})  # a size that was not seen is no leak
            for i, shapes in enumerate(all_shapes):
                session.run({key: np.ones(s, "f4") for key, s in shapes.items()})
                if i == n // 10:
                    start = resident()
            grown[name] = 100 * (resident() - start) / start
    return {"shapes": n, "different": different, "percent": grown, "bound": 1.0, "figure": max(grown.values())}


def network(path, blocks):
    """Blocks as of a transformer, of sizes that change now and then: ten values each. All values stay values."""
    random, text, x, total = np.random.default_rng(0), [], None, None
    for i in range(blocks):
        if i % 500 == 0:
            text += ["  %%e%d = reduce_sum(%s, %%one) : ?" % (i, x)] if x else []
            text += ["  %%t%d = add(%%e%d, %s) : ?" % (i, i, total)] if total else []
            total = None if not x else "%%t%d" % i if total else "%%e%d" % i
            x = "%%x%d" % random.integers(1, 17)
        text += ["  %%%s%d = %s : ?" % (name, i, call % {"x": x, "i": i}) for name, call in (
            ("a", "relu(%(x)s)"), ("q", "exp(%%a%(i)d)"), ("k", "neg(%%a%(i)d)"), ("v", "abs(%%a%(i)d)"), ("s", "add(%%q%(i)d, %%k%(i)d)"),
            ("o", "mul(%%s%(i)d, %%v%(i)d)"), ("r", "add(%%o%(i)d, %(x)s)"), ("w", "concat(%%r%(i)d, %%r%(i)d, %%r%(i)d) {axis = 1}"),
            ("g", "tanh(%%w%(i)d)"), ("f", "reduce_sum(%%g%(i)d, %%one) {keepdims = 1}"), ("y", "add(%%f%(i)d, %%r%(i)d)"))]
        x = "%%y%d" % i
    head = ", ".join("%%x%d: f32[N,%d]" % (w, 64 * w) for w in range(1, 17))
    one = "  %one = const() {value = dense(i64[1]: 1)} : i64[1]"
    tail = "  %%e = reduce_sum(%s, %%one) : ?\n  %%z = add(%%e, %s) : ?" % (x, total)
    open(path, "w").write("tenon 1\ngraph @main(%s) -> (%%z: ?) {\n%s\n%s\n%s\n}\n" % (head, one, "\n".join(text), tail))


def processor_time(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def plan():
    """Processor time of the pass (best of three) and peak / bound for a network of 100,000 values."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.tn")
        network(path, 9000)
        command = [TENON, "dump", "--knob", "in_place=0", "--knob", "skip=cse", path]
        spent = {last: min(processor_time([*command, "--stop-after", last, "-o", os.devnull]) for _ in range(3)) for last in ("schedule", "plan")}
        table = subprocess.run([*command, "--plan", "--dim", "N=100"], capture_output=True, text=True, check=True).stdout
    seconds = spent["plan"] - spent["schedule"]
    ratio = float(re.search(r"peak / bound: ([\d.]+)", table).group(1))
    return {"buffers": int(re.search(r"main: (\d+) buffers", table).group(1)), "seconds": seconds, "bound": 1.0,
            "peak / live": ratio, "ratio bound": 1.05, "ratio": ratio, "figure": seconds}


def is_good(row):
    return row["figure"] >= row["at least"] if "at least" in row else (
        row["figure"] <= row["bound"] and row.get("ratio bound", 1) >= (row["ratio"] if "ratio bound" in row else 0))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--soak", type=int, default=10000)
    parser.add_argument("--side", type=int, default=320)
    parser.add_argument("--only", action="append")
    parser.add_argument("--json", action="store_true")
    a = parser.parse_args()
    parts = {"first": first, "load": load, "memory": memory, "steps": steps, "soak": lambda t: soak(t, a.soak, a.side), "plan": plan}
    rows, bad = {}, 0
    for name, part in parts.items():
        if a.only and name not in a.only:
            continue
        for threads in [0] if name == "plan" else [int(t) for t in a.threads.split(",")]:
            row = part() if name == "plan" else part(threads)
            row["is good"] = is_good(row)
            bad += not row["is good"]
            rows["%s, %d threads" % (name, threads) if threads else name] = row
            if not a.json:
                print("%-4s %-18s %s" % ("ok" if row["is good"] else "MISS", "%s %s" % (name, threads or ""), json.dumps(
                    row, default=float)), flush=True)
    if a.json:
        print(json.dumps(rows, indent=1, default=float))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
