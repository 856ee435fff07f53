"""Runs a model in Tenon and in ONNX Runtime and compares: one compiled program for all shapes."""
import os
import sys

import numpy as np
import onnxruntime

import tenon

WHEELS = os.environ["TENON_WHEELS"]


def wheel(name):
    """Path of a model file of the unpacked wheels."""
    for folder, _, files in os.walk(WHEELS):
        if name in files:
            return os.path.join(folder, name)
    print("skipped: %s is not in %s" % (name, WHEELS))
    sys.exit(77)


def reference(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class Pair:
    """The same model on both sides."""

    def __init__(self, path):
        self.theirs = reference(path)
        self.program = tenon.compile(path)  # the only compile: every shape below runs this program
        self.ours = self.program.session(threads=2)
        self.failed = 0

    def run(self, inputs, tolerance, label):
        want = self.theirs.run(None, inputs)
        got = self.ours.run(inputs)
        for info, expected in zip(self.theirs.get_outputs(), want):
            actual = got[info.name]
            same = actual.shape == expected.shape and actual.dtype == expected.dtype
            error = np.abs(actual.astype("f8") - expected.astype("f8")).max(initial=0) if same else np.inf
            ok = same and error <= tolerance
            self.failed += not ok
            print("%s %s %s %s max error %.3g (allowed %g)" % ("ok  " if ok else "FAIL", label, info.name, expected.shape, error, tolerance))
        return dict(zip([o.name for o in self.theirs.get_outputs()], want))

    def finish(self):
        stats = self.ours.stats()
        print("%d shapes bound, %d runs, one program" % (stats["binds"], stats["runs"]))
        sys.exit(1 if self.failed else 0)


def image(shape, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype("f4")
