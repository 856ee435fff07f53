#!/usr/bin/env python3
"""What it costs to look at a large model: `tenon info` on 500 MiB of weights.

    bench/reading.py TENON [MEBIBYTES]

Prints the median wall time of 11 calls, and the largest anonymous memory seen (what is resident above the file cache)."""
# needs: numpy onnx
import os
import statistics
import subprocess
import sys
import tempfile
import time

tenon, size = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "500"
here = os.path.dirname(os.path.abspath(__file__))


def anonymous(pid):
    try:
        for line in open("/proc/%d/status" % pid):
            if line.startswith("RssAnon:"):
                return int(line.split()[1])
    except OSError:
        pass
    return 0


with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "big.onnx")
    subprocess.run([sys.executable, os.path.join(here, "..", "examples", "make_big.py"), model, size], check=True)
    times, memory = [], 0
    for _ in range(11):
        start = time.perf_counter()
        process = subprocess.Popen([tenon, "info", model], stdout=subprocess.DEVNULL)
        while process.poll() is None:
            memory = max(memory, anonymous(process.pid))
        times.append((time.perf_counter() - start) * 1e3)
    print("tenon info on %s MiB: median %.1f ms, fastest %.1f ms, anonymous memory %.1f MiB" % (size, statistics.median(times), min(times), memory / 1024))
