"""Every operator on random legal inputs, in Tenon and in ONNX Runtime (or, where that has no kernel, in the reference
implementation of the onnx package; beside them by spec.py where that has the operator): differential.py [--op NAME]...
[--opset N] [--type WORD] [--draws N] [--seed N] [--jobs N] [--at DRAW] [--table]. Without arguments one draw of everything."""
# needs: numpy onnx onnxruntime
import argparse
import itertools
import json
import mmap
import os
import signal
import struct
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
import onnx
from onnx import TensorProto, helper

import draw
import faults
import judge
import known
import spec

# Floats may be this many units of the output's precision (epsilon times the largest element, at least 1) apart: both
# sides round, ONNX Runtime's polynomial exp and tanh are a few units off, sums are taken in another order.
UNITS = 24
RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial", "Bernoulli"}
OFF_BY_ONE = {"QuantizeLinear", "QLinearConv", "QLinearMatMul", "DynamicQuantizeLinear", "QLinearAdd", "QLinearMul", "QLinearSigmoid",
              "QLinearAveragePool", "QLinearGlobalAveragePool", "QLinearLeakyRelu", "QLinearConcat", "QLinearSoftmax"}  # a tie that float32 rounding decides
ROUNDED = {TensorProto.FLOAT16: 2.0**-10, TensorProto.BFLOAT16: 2.0**-7}


def opset_of(domain, version):
    return version if domain == "" else 21


def one(row, number, seed):
    """(draw, model) of a row's draw number `number`; the same wherever it is run."""
    domain, op, version, word = row
    rng = np.random.default_rng([zlib.crc32(("%s %s %d %s" % row).encode()), number, seed])
    it = draw.draw(op, domain, version, word, rng)
    return it, it.model(max(7, opset_of(domain, version)))


PHASES = ("draw", "runtime", "reference", "twin", "tenon")
phase = bytearray(1)  # what the process does now; a child's is shared with its parent


def judges(it, row):
    """[(name, function of the model: the outputs)], those to be asked first first."""
    # The reference's optional is a list of one.
    plain = lambda want: [w[0] if it.op.startswith("Optional") and isinstance(w, list) else w for w in want]
    twin = lambda _: judge.by_twin(it, max(7, opset_of(row[0], row[2])), it.inputs)
    return [("runtime", lambda m: judge.by_runtime(m, it.inputs)), ("reference", lambda m: plain(judge.by_reference(m, it.inputs))), ("twin", twin)]


def wanted(it, model, row, cache):
    """What the judges say: (name, outputs), or (None, reasons)."""
    reasons = []
    for name, run in judges(it, row):
        if cache.get((name, row), 0) > 8 or known.wrong("runtime" if name == "twin" else name, it):
            continue
        phase[0] = PHASES.index(name)
        try:
            return name, run(model)
        except Exception as e:
            text = str(e)
            reasons.append("%s: %s" % (name, text[:300]))
            if "NOT_IMPLEMENTED" in text or "Type Error" in text or "not implemented" in text or isinstance(e, judge.Refused):
                cache[name, row] = cache.get((name, row), 0) + 1
    return None, reasons


def compare(it, who, got, want):
    """None, or how Tenon's results differ from a judge's."""
    # Where the model's own type is f16 or bf16, results are as coarse as that, also those cast to f32.
    types = set(it.input_types.values()) | set(it.bound.values()) | {it.t}
    coarse = max((ROUNDED.get(t, 0) for t in types), default=0)
    if who == "twin" or faults.rounded(who, it):
        coarse = max(coarse, 2.0**-23)
    for i, (g, w) in enumerate(zip(got, want)):
        kind = judge.EPSILON.get(str(getattr(w, "dtype", "")), 0)
        if who == "twin" and w.dtype.kind == "f":
            w = w.astype(g.dtype)
        if faults.unsaid(it, i, w):
            continue
        text = judge.difference(g, w, UNITS * it.tolerance, max(coarse, kind) or None, 1 if it.op in OFF_BY_ONE or faults.cut(it) else 0)
        if text:
            return "y%d by %s: %s" % (i, who, text)
    return None


def by_spec(it, got):
    """As compare, with the answers of spec.py."""
    text = spec.difference(it, got[0], UNITS * it.tolerance, max(ROUNDED.get(it.t_first(), 0), judge.EPSILON.get(str(got[0].dtype), 0)))
    return text and "y0 by spec: %s" % text


def check(row, number, seed, cache):
    """('ok' | 'none' | 'illegal' | 'differs', text)"""
    try:
        it, model = one(row, number, seed)
    except draw.Illegal as e:
        return "illegal", str(e)
    who, want = wanted(it, model, row, cache)
    written = row[0] == "" and it.op in spec.JUDGES
    phase[0] = PHASES.index("tenon")
    try:
        got = judge.by_tenon(model, it.inputs)
    except judge.tenon.Error as e:
        text = "%s: %s" % (e.status, e)
        if who is None and not written:
            return "none", "both refuse: %s | %s" % (text, " | ".join(want))
        if faults.refused(row, it):
            return "listed", text
        if who is None:
            return "differs", "refused: %s" % text
        return "differs", "refused, %s gives %s: %s" % (who, [np.asarray(w).shape if not isinstance(w, (list, type(None))) else "seq" for w in want], text)
    if who is None and not written:
        return "none", " | ".join(want)
    if it.op in RANDOM:
        same = all(np.asarray(g).shape == np.asarray(w).shape and np.asarray(g).dtype == np.asarray(w).dtype for g, w in zip(got, want))
        return ("ok", who) if same else ("differs", "shape or type of random numbers")
    text, other = written and by_spec(it, got), who and compare(it, who, got, want)
    if text or other and not written:
        return "differs", text or other
    if other:  # the formula in float64 is the better judge
        return "ok", "spec, unlike %s" % who
    return "ok", "+".join(name for name in (who, "spec" if written else None) if name)


def child(tasks, seed, shared, out):
    global phase
    cache, phase = {}, memoryview(shared)[8:9]
    with os.fdopen(out, "w") as f:
        for at, (row, number) in enumerate(tasks):
            shared[:8] = struct.pack("q", at)
            phase[0] = 0
            signal.setitimer(signal.ITIMER_PROF, 20)  # of processor time: the machine may be busy
            signal.alarm(300)
            try:
                verdict, text = check(row, number, seed, cache)
            except Exception as e:  # a mistake of the recipe
                verdict, text = "recipe", "%s: %s" % (type(e).__name__, e)
            f.write(json.dumps([at, verdict, text]) + "\n")
        f.flush()
    os._exit(0)


class Job:
    """The draws of some rows in a process of their own, restarted behind a draw that ends it."""

    def __init__(self, rows, numbers, seed):
        self.tasks, self.seed = [(row, n) for row in rows for n in numbers], seed
        self.results = {row: [] for row in rows}
        self.start()

    def start(self):
        self.shared = mmap.mmap(-1, 9)
        self.read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.read)
            child(self.tasks, self.seed, self.shared, write)
        os.close(write)

    def finish(self):
        """True when every draw has a result."""
        with os.fdopen(self.read) as f:
            lines = [json.loads(line) for line in f if line.endswith("\n")]
        _, status = os.waitpid(self.pid, 0)
        if status != 0:  # what was not written yet is asked again
            at = struct.unpack("q", self.shared[:8])[0]
            who = PHASES[self.shared[8]]
            lines = [line for line in lines if line[0] < at]
            lines.append([at, "differs" if who == "tenon" else "none", "%s ended by signal %d" % (who, os.WTERMSIG(status))])
        for at, verdict, text in lines:
            row, number = self.tasks[at]
            self.results[row].append((number, verdict, text))
        done = {at for at, _, _ in lines}
        self.tasks = [t for at, t in enumerate(self.tasks) if at not in done]
        if self.tasks:
            self.start()
        return not self.tasks


def run_rows(rows, numbers, seed, jobs):
    """Yields (row, results). Rows of one operator and version share a process."""
    groups = [list(g) for _, g in itertools.groupby(rows, lambda r: r[:3])]
    waiting, running = list(reversed(groups)), []
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(Job(waiting.pop(), numbers, seed))
        first = running.pop(0)
        if first.finish():
            yield from ((row, sorted(results)) for row, results in first.results.items())
        else:
            running.append(first)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--op", action="append")
    parser.add_argument("--opset", type=int)
    parser.add_argument("--type")
    parser.add_argument("--family")
    parser.add_argument("--draws", type=int, default=int(os.environ.get("TENON_GEN_DRAWS", "1")))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--at", type=int, help="only this draw, and print its model")
    parser.add_argument("--save", help="a file for that model")
    parser.add_argument("--table", action="store_true", help="a line for every row, not only those that differ")
    parser.add_argument("--show", type=int, default=1, help="differences printed per row")
    parser.add_argument("--undecided", action="store_true", help="show draws that no judge decides too")
    args = parser.parse_args()
    rows = [r for r in draw.rows(args.op) if args.opset in (None, r[2]) and args.type in (None, r[3])]
    if args.family:
        rows = [r for r in rows if draw.RECIPES[r[0], r[1]][0].__module__ == args.family]
    if args.at is not None:
        for row in rows:
            it, model = one(row, args.at, args.seed)
            if args.save:
                onnx.save(model, args.save)
            print(onnx.printer.to_text(model), flush=True)
            print({n: (a.dtype, a.shape, a.tolist() if a.size < 50 else "...") for n, a in it.inputs.items()})
            print(check(row, args.at, args.seed, {}))
        return 0
    began, total, sums = time.time(), 0, {}
    for row, results in run_rows(rows, range(args.draws), args.seed, args.jobs):
        count = {}
        for n, verdict, text in results:
            key = verdict if verdict != "ok" else text
            count[key] = count.get(key, 0) + 1
            sums[key] = sums.get(key, 0) + 1
        total += len(results)
        bad = [r for r in results if r[1] in ("differs", "recipe") or args.undecided and r[1] == "none"]
        if bad or args.table:
            print("%-12s %-26s %2d %-14s %s" % (row[0] or "ai.onnx", row[1], row[2], row[3], " ".join("%s %d" % c for c in sorted(count.items()))), flush=True)
        for n, verdict, text in bad[:args.show]:
            print("    draw %d %s: %s" % (n, verdict, text[:600]), flush=True)
    print("%d rows, %d draws in %.0f s: %s" % (len(rows), total, time.time() - began, ", ".join("%s %d" % c for c in sorted(sums.items()))))
    return 1 if sums.get("differs") or sums.get("recipe") else 0


if __name__ == "__main__":
    sys.exit(main())
