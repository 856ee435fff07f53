"""Tenon's formulas are exact on the fragments of bench/fragments.py, and ONNX Runtime gives those shapes."""
# needs: numpy onnx onnxruntime
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["TENON_SOURCE"], "bench"))

import _fragments  # noqa: E402
import fragments  # noqa: E402

with tempfile.TemporaryDirectory() as folder:
    cases = fragments.write(folder)
    faults = fragments.check(folder, cases)
    for case in cases:
        shapes = _fragments.tenon_shapes(os.environ["TENON"], _fragments.path_of(folder, case))
        verdict, why = _fragments.worst(_fragments.faults(case, shapes))
        if verdict != "EXACT":
            faults += 1
            print("%s: %s: %s" % (case["name"], verdict, why))
print("%d fragments, %d faults" % (len(cases), faults))
sys.exit(1 if faults else 0)
