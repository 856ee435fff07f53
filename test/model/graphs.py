"""Graphs that are not the project's own, where they are at hand (TENON_SHARED, default ../shared): inference gives every
tensor a shape; the ones that carry their weights run and equal ONNX Runtime."""
# needs: numpy onnxruntime
import glob
import json
import os
import subprocess
import sys

import numpy as np

from _compare import Pair

shared = os.environ.get("TENON_SHARED", os.path.join(os.environ["TENON_SOURCE"], "..", "shared"))
paths = sorted(glob.glob(os.path.join(shared, "cases", "models", "*.onnx")))
if not paths:
    print("skipped: no models in %s" % shared)
    sys.exit(77)

failed = 0
for path in paths:
    done = subprocess.run([os.environ["TENON"], "infer", path, "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    values = json.loads(done.stdout)["values"]
    open_shapes = [name for name, v in values.items() if v["shape"] is None and "type" not in v]  # sequences say a type
    failed += bool(open_shapes)
    print("%s %s: %d values, without shape: %s" % ("FAIL" if open_shapes else "ok  ", os.path.basename(path), len(values), open_shapes))

pair = Pair(os.path.join(shared, "cases", "models", "byte_lstm.onnx"))
random = np.random.default_rng(0)
for shape in [(1, 5), (3, 17), (2, 64)]:
    dtype = {"tensor(int64)": "i8", "tensor(int32)": "i4", "tensor(uint8)": "u1"}[pair.theirs.get_inputs()[0].type]
    pair.run({"input": random.integers(0, 250, shape).astype(dtype)}, 1e-4, "byte_lstm %s" % (shape,))
sys.exit(1 if failed or pair.failed else 0)
