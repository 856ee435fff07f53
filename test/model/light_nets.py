"""The classic networks that come with the onnx package (weights made by ConstantOfShape) equal ONNX Runtime."""
# needs: numpy onnx onnxruntime
import glob
import os

import numpy as np
import onnx

from _compare import Pair

folder = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")
failed = 0
paths = sorted(glob.glob(os.path.join(folder, "light_*.onnx")))
assert len(paths) == 9, paths
for path in paths:
    pair = Pair(path)
    random = np.random.default_rng(0)
    inputs = {}
    for i in pair.theirs.get_inputs():
        inputs[i.name] = random.uniform(0, 1, [d if isinstance(d, int) else 1 for d in i.shape]).astype("f4")
    pair.run(inputs, 1e-4, os.path.basename(path))
    failed += pair.failed
raise SystemExit(1 if failed else 0)
