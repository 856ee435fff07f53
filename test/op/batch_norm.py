"""Training of BatchNormalization before opset 14: its further outputs, against NumPy in double."""
# needs: numpy onnx onnxruntime
import sys

import numpy as np
from onnx import helper

import _both

rng, failed = np.random.default_rng(5), 0


def expected(feeds, spatial, epsilon, momentum):
    x, scale, bias, mean, var = (a.astype("f8") for a in feeds.values())
    axes = (0, *range(2, x.ndim)) if spatial else (0,)
    wide = lambda a: a.reshape([1, -1] + [1] * (x.ndim - 2)) if spatial else a
    own = x.mean(axis=axes), x.var(axis=axes)
    y = wide(scale) * (x - wide(own[0])) / np.sqrt(wide(own[1]) + epsilon) + wide(bias)
    return (y, *(old * momentum + new * (1 - momentum) for old, new in zip((mean, var), own)), *own)


def check(opset, wanted, shape, spatial=1, **attrs):
    global failed
    sizes = (shape[1],) if spatial else shape[1:]
    feeds = {"x": 2 + rng.standard_normal(shape).astype("f4")}
    feeds |= {n: rng.uniform(0.5, 2, sizes).astype("f4") for n in ("scale", "b", "mean", "var")}
    more = attrs if spatial else {**attrs, "spatial": 0}
    right = expected(feeds, spatial, attrs.get("epsilon", 1e-5), attrs.get("momentum", 0.9))
    for held in ((), tuple(feeds)):  # run, and folded
        results = _both.ours(*_both.build("BatchNormalization", list(feeds.items()), wanted, "", 0, opset, held, more))
        for i in wanted:
            got = results["y%d" % i]
            if got.shape != right[i].shape or not np.allclose(got, right[i], rtol=1e-5, atol=1e-5):
                failed += 1
                print("opset %d %s %s held %s: output %d is %s, expected %s" % (opset, shape, more, held, i, got, right[i]))


for opset in (7, 9):
    check(opset, [0, 1, 2, 3, 4], (2, 3, 4, 5))
    check(opset, [0, 1, 2, 3, 4], (3, 2), momentum=0.6, epsilon=1e-3)
    check(opset, [0, 1, 2], (2, 3, 4))
    check(opset, [0, 4], (2, 3, 4), momentum=0.25)
check(7, [0, 1, 2, 3, 4], (4, 2, 3), spatial=0)
sys.exit(1 if failed else 0)
