#!/usr/bin/env python3
"""Time per operator type on the PP-OCR models: Tenon's general engine against ONNX Runtime, one thread, in one run.

    bench/networks.py TENON [--rounds 5] [--repeat 5] [--models FOLDER] [--json]

Both sides run in turns; a figure is the median over rounds of the time per inference summed over the nodes of a type.
ONNX Runtime's figure per operator comes from its profiler with graph optimisation off (so that the nodes are the
model's own); the totals below the table are wall time, with its optimisation off and on."""
# needs: numpy onnxruntime wheels
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnxruntime as ort

MODELS = [
    ("ch_PP-OCRv4_det_infer.onnx", (1, 3, 640, 640)),
    ("ch_PP-OCRv4_rec_infer.onnx", (1, 3, 48, 320)),
    ("ch_ppocr_mobile_v2.0_cls_infer.onnx", (1, 3, 48, 192)),
]


def find(folder, name):
    for where, _, files in os.walk(folder):
        if name in files:
            return os.path.join(where, name)
    sys.exit("%s is not in %s (scripts/setup.sh demo brings it)" % (name, folder))


def tenon(program, model, shape, repeat):
    """(milliseconds per operator type, wall milliseconds of one run)"""
    command = [program, "run", model, "--input", "x=random:" + "x".join(map(str, shape)), "--threads", "1", "--json"]
    profile = json.loads(subprocess.run(command + ["--repeat", str(repeat), "--profile"], capture_output=True, check=True).stdout)
    plain = json.loads(subprocess.run(command + ["--repeat", str(repeat)], capture_output=True, check=True).stdout)
    times = {}
    for row in profile["profile"]:
        kind = re.search(r"\(([^()]*)\)$", row["node"])
        key = kind.group(1) if kind else row["kernel"]
        times[key] = times.get(key, 0) + row["ns"] / row["calls"] / 1e6
    return times, plain["time_ns"]["median"] / 1e6


def onnxruntime_session(model, optimise, prefix=None):
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    level = ort.GraphOptimizationLevel
    options.graph_optimization_level = level.ORT_ENABLE_ALL if optimise else level.ORT_DISABLE_ALL
    if prefix:
        options.enable_profiling, options.profile_file_prefix = True, prefix
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def wall(session, inputs, repeat):
    times = []
    for _ in range(repeat + 1):
        start = time.perf_counter()
        session.run(None, inputs)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times[1:])


def onnxruntime_profile(model, inputs, repeat):
    with tempfile.TemporaryDirectory() as folder:
        session = onnxruntime_session(model, False, os.path.join(folder, "ort"))
        for _ in range(repeat + 1):
            session.run(None, inputs)
        events = json.load(open(session.end_profiling()))
    runs = {}  # node -> durations
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            runs.setdefault((event["name"], event["args"]["op_name"]), []).append(event["dur"] / 1e3)
    times = {}
    for (_, kind), durations in runs.items():
        times[kind] = times.get(kind, 0) + statistics.mean(durations[1:] or durations)
    return times


def median_of(rounds):
    keys = {key for times in rounds for key in times}
    return {key: statistics.median([times.get(key, 0) for times in rounds]) for key in keys}


def measure(options, name, shape):
    model = find(options.models, name)
    inputs = {"x": np.random.default_rng(0).uniform(-1, 1, shape).astype("f4")}
    off, on = onnxruntime_session(model, False), onnxruntime_session(model, True)
    ours, theirs, totals = [], [], []
    for _ in range(options.rounds):
        times, total = tenon(options.tenon, model, shape, options.repeat)
        ours.append(times)
        theirs.append(onnxruntime_profile(model, inputs, options.repeat))
        totals.append((total, wall(off, inputs, options.repeat), wall(on, inputs, options.repeat)))
    return median_of(ours), median_of(theirs), [statistics.median(column) for column in zip(*totals)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", help="the program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=5, help="inferences per round")
    parser.add_argument("--models", default=os.environ.get("TENON_WHEELS", "build/wheels"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    result = []
    for name, shape in MODELS:
        ours, theirs, totals = measure(options, name, shape)
        rows = [{"operator": kind, "onnxruntime_ms": theirs[kind], "tenon_ms": ours.get(kind, 0.0),
                 "ratio": ours.get(kind, 0.0) / theirs[kind] if theirs[kind] > 0 else 0.0}
                for kind in sorted(theirs, key=theirs.get, reverse=True)]
        result.append({"model": name, "shape": shape, "operators": rows, "tenon_ms": totals[0],
                       "onnxruntime_unoptimised_ms": totals[1], "onnxruntime_ms": totals[2]})
    if options.json:
        print(json.dumps(result, indent=1))
        return
    for r in result:
        print("%s %s" % (r["model"], "x".join(map(str, r["shape"]))))
        print("  %-20s %12s %12s %8s" % ("operator", "ORT ms", "Tenon ms", "ratio"))
        for row in r["operators"]:
            print("  %-20s %12.3f %12.3f %8.2f" % (row["operator"], row["onnxruntime_ms"], row["tenon_ms"], row["ratio"]))
        print("  %-20s %12.3f %12.3f %8.2f" % ("all, unoptimised", r["onnxruntime_unoptimised_ms"], r["tenon_ms"],
                                               r["tenon_ms"] / r["onnxruntime_unoptimised_ms"]))
        print("  %-20s %12.3f %12.3f %8.2f" % ("all, optimised", r["onnxruntime_ms"], r["tenon_ms"], r["tenon_ms"] / r["onnxruntime_ms"]))
    worst = max((row for r in result for row in r["operators"] if row["onnxruntime_ms"] >= 0.01), key=lambda row: row["ratio"])
    print("largest ratio of an operator that takes 0.01 ms or more: %.2f (%s)" % (worst["ratio"], worst["operator"]))


if __name__ == "__main__":
    main()
