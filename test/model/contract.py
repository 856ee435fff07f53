"""PP-OCRv4 detection and recognition: ONNX Runtime runs an image iff `tenon contract` allows it. contract.py [HEIGHTS]"""
# needs: numpy onnxruntime wheels
import glob
import json
import os
import subprocess
import sys

import numpy as np
import onnxruntime

FUNCTIONS = {"__builtins__": {}, "min": min, "max": max}


def model(name):
    return glob.glob(os.path.join(os.environ["TENON_WHEELS"], "*", "**", name), recursive=True)[0]


def contract(path, names):
    out = json.loads(subprocess.run([os.environ["TENON"], "contract", path, "--json"], check=True,
                                    capture_output=True).stdout)
    exprs = [c["expr"] for c in out["conditions"]]
    for old, new in names.items():
        exprs = [e.replace('"%s"' % old, new).replace(old, new) for e in exprs]
    return exprs, [c["words"] for c in out["conditions"]]


def check(path, exprs, sizes):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    seen = set()
    for h, w in sizes:
        said = all(eval(e, FUNCTIONS, {"N": 1, "H": h, "W": w}) for e in exprs)
        try:
            session.run(None, {"x": np.zeros((1, 3, h, w), np.float32)})
            ran = True
        except Exception:
            ran = False
        assert said == ran, (h, w, said, ran, exprs)
        seen.add(ran)
    assert seen == {True, False}
    print("%s: %d sizes" % (os.path.basename(path), len(sizes)))


def main():
    heights = range(1, int(sys.argv[1])) if len(sys.argv) > 1 else [*range(1, 10), 16, *range(27, 35), 60, 61, 64, 65]
    det = model("ch_PP-OCRv4_det_infer.onnx")
    exprs, words = contract(det, {"p2o.DynamicDimension.0": "N", "p2o.DynamicDimension.1": "H", "p2o.DynamicDimension.2": "W"})
    assert '"p2o.DynamicDimension.1" must be 1 to 4 or at most 3 less than a multiple of 32' in words, words
    check(det, exprs, [(h, w) for h in heights for w in (3, 30, 36)])
    rec = model("ch_PP-OCRv4_rec_infer.onnx")
    exprs, words = contract(rec, {"p2o.DynamicDimension.1": "W", "p2o.DynamicDimension.0": "N", "x_d2": "H"})
    # smaller ones ONNX Runtime pools with windows that do not fit: -1 / 3 is 0 in C
    check(rec, exprs, [(h, 32) for h in (33, 34, 48, 79, 80, 81, 90)] + [(48, w) for w in range(5, 9)])


main()
