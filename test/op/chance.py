# needs: numpy onnx
"""Random operators through the whole library: the stream that doc/op.md describes, bit for bit; the distribution, by the
tests of Kolmogorov and Smirnov and of chi-square at a level of 0.001; the same numbers on 1, 2, 3 and 8 threads."""
import math
import os
import sys
import tempfile

import numpy as np
from onnx import TensorProto, helper

import tenon

F32, F64, I32, BOOL = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT32, TensorProto.BOOL
N = 200000
KS = 1.9495  # sqrt(n) * D is larger in one of a thousand samples
CHI = {1: 10.828, 3: 16.266, 7: 24.322, 9: 27.877, 15: 37.697, 31: 61.098, 255: 330.52}  # by degrees of freedom
failed = 0


def say(ok, label, text=""):
    global failed
    failed += not ok
    print("%s %s %s" % ("ok  " if ok else "FAIL", label, text))


def program(nodes, feeds, outs):
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape) for n, a in feeds.items()],
                              [helper.make_empty_tensor_value_info(o) for o in outs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    model.ir_version = 10
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as f:
            f.write(model.SerializeToString())
        return tenon.compile(path)


def draw(op, feeds=None, out="y", n_out=1, threads=(2,), **attrs):
    """One output of the operator, which must be the same on each number of threads."""
    feeds = feeds or {}
    outs = ["y", "z"][:n_out]
    it = program([helper.make_node(op, list(feeds), outs, **attrs)], feeds, outs)
    runs = [it.session(threads=t).run(feeds)[out] for t in threads]
    same = all(r.tobytes() == runs[0].tobytes() for r in runs)
    if not same:
        say(False, "%s on other threads" % op)
    return runs[0]


# --- the tests ---

def ks(sample, cdf):
    """sqrt(n) * the largest distance from the distribution function."""
    x = np.sort(sample.ravel().astype("f8"))
    f, n = cdf(x), x.size
    return math.sqrt(n) * max((np.arange(1, n + 1) / n - f).max(), (f - np.arange(n) / n).max())


def chi(seen, shares):
    expected = np.asarray(shares, "f8") * seen.sum()
    return float(((seen - expected) ** 2 / expected).sum())


def even(x):
    return np.clip(x, 0, 1)


GRID = np.linspace(-8, 8, 16001)
BELL = np.array([0.5 * math.erfc(-v / math.sqrt(2)) for v in GRID])


def bell(x):
    return np.interp(x, GRID, BELL)  # within 1e-7


def fits(label, value, limit):
    say(value < limit, label, "%.3f, limit %.3f" % (value, limit))


def fails(label, value, limit):
    say(value > limit, "seen to fail: " + label, "%.3f, limit %.3f" % (value, limit))


# --- the stream: what doc/op.md says ---

MASK = 2**64 - 1


def mixed(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def stream(seed, count):
    key = mixed(int(np.float64(np.float32(seed)).view("u8")) + 0x9E3779B97F4A7C15 & MASK)
    return [(mixed(key + (i + 1) * 0x9E3779B97F4A7C15 & MASK) >> 11) * 2.0**-53 for i in range(count)]


for seed in (0.0, 1.0, -2.5):
    u = np.array(stream(seed, 64))
    say(np.array_equal(draw("RandomUniform", dtype=F64, shape=[64], seed=seed), u), "the stream of seed %g" % seed)
    normal = np.sqrt(-2 * np.log(1 - u[0::2])) * np.cos(2 * np.pi * u[1::2])
    say(np.allclose(draw("RandomNormal", dtype=F64, shape=[32], seed=seed), normal, rtol=1e-13, atol=1e-15), "normal numbers of seed %g" % seed)
    p = np.linspace(0, 1, 64)
    say(np.array_equal(draw("Bernoulli", {"x": p}, seed=seed), (u < p).astype("f8")), "Bernoulli of seed %g" % seed)

# --- distributions ---

for dtype in (F32, F64):
    for seed in (1.0, 2.0):
        u = draw("RandomUniform", dtype=dtype, shape=[N], seed=seed)
        say(u.min() >= 0 and u.max() < 1, "RandomUniform within [0, 1)")
        fits("RandomUniform", ks(u, even), KS)
        wide = draw("RandomUniform", dtype=dtype, shape=[N], low=-3.0, high=5.0, seed=seed)
        fits("RandomUniform from -3 to 5", ks((wide.astype("f8") + 3) / 8, even), KS)
        normal = draw("RandomNormal", dtype=dtype, shape=[N], seed=seed)
        fits("RandomNormal", ks(normal, bell), KS)
        fits("RandomNormal of mean 2, scale 3", ks((draw("RandomNormal", dtype=dtype, shape=[N], mean=2.0, scale=3.0, seed=seed).astype("f8") - 2) / 3, bell), KS)
fails("uniform numbers to the power of 1.02", ks(u**1.02, even), KS)
fails("normal numbers times 1.02", ks(normal * 1.02, bell), KS)
fails("normal numbers plus 0.01", ks(normal + 0.01, bell), KS)
like = np.zeros((400, 500), "f4")
fits("RandomUniformLike", ks(draw("RandomUniformLike", {"x": like}, seed=3.0), even), KS)
fits("RandomNormalLike", ks(draw("RandomNormalLike", {"x": like}, seed=3.0), bell), KS)


def pairs(a, b):
    """Chi-square of the cells of 16 by 16 that pairs of uniform numbers fall into."""
    cells = np.minimum((a * 16).astype("i8"), 15) * 16 + np.minimum((b * 16).astype("i8"), 15)
    return chi(np.bincount(cells, minlength=256), np.full(256, 1 / 256))


u, v = (draw("RandomUniform", dtype=F64, shape=[N], seed=s) for s in (1.0, 2.0))
for step in (1, 2, 7, 1024):
    fits("numbers %d apart" % step, pairs(u[:-step], u[step:]), CHI[255])
fits("two streams", pairs(u, v), CHI[255])
fails("a stream and itself", pairs(u, u), CHI[255])
fits("normal numbers, neighbours", pairs(bell(normal[0:N:2][:50000]), bell(normal[1:N:2][:50000])), CHI[255])

for share in (0.001, 0.25, 0.5, 0.9):
    for dtype in ("f4", "f8"):
        drawn = draw("Bernoulli", {"x": np.full(N, share, dtype)}, seed=4.0)
        exact = float(np.asarray(share, dtype))
        fits("Bernoulli of %g" % share, chi(np.bincount(drawn.astype("i8"), minlength=2), [1 - exact, exact]), CHI[1])
fails("Bernoulli of 0.5 for 0.51", chi(np.bincount(draw("Bernoulli", {"x": np.full(N, 0.5, "f4")}, seed=4.0).astype("i8"), minlength=2), [0.49, 0.51]), CHI[1])
say(not draw("Bernoulli", {"x": np.zeros(N, "f4")}, seed=4.0).any() and draw("Bernoulli", {"x": np.ones(N, "f4")}, seed=4.0).all(), "Bernoulli of 0 and 1")

weights = np.array([[1, 2, 3, 4, 0.5, 0.1, 7, 2], [1, 1, 1, 1, 1, 1, 1, 1]])
for dtype in ("f4", "f8"):
    drawn = draw("Multinomial", {"x": np.log(weights).astype(dtype)}, dtype=I32, sample_size=N // 2, seed=5.0)
    for row in range(2):
        fits("Multinomial, row %d" % row, chi(np.bincount(drawn[row], minlength=8), weights[row] / weights[row].sum()), CHI[7])
fails("Multinomial of other weights", chi(np.bincount(drawn[1], minlength=8), (np.arange(8) + 40) / (np.arange(8) + 40).sum()), CHI[7])

ratio, training = np.array(0.3, "f4"), np.array(True)
x = np.ones((400, 500), "f4")
for attrs in (dict(), dict(seed=6)):
    mask = draw("Dropout", {"x": x, "r": ratio, "t": training}, out="z", n_out=2, **attrs)
    fits("mask of Dropout %s" % attrs, chi(np.bincount(mask.ravel().astype("i8"), minlength=2), [float(ratio), 1 - float(ratio)]), CHI[1])
    cells = mask.reshape(-1, 4) @ np.array([1, 2, 4, 8])
    shares = [np.prod([1 - float(ratio) if c >> b & 1 else float(ratio) for b in range(4)]) for c in range(16)]
    fits("fours of the mask %s" % attrs, chi(np.bincount(cells, minlength=16), shares), CHI[15])
y = draw("Dropout", {"x": x, "r": ratio, "t": training}, seed=6)
say(np.allclose(np.unique(y), [0, 1 / 0.7]), "Dropout keeps the mean")

# --- threads, also where they do not divide the work evenly ---

ALL = (1, 2, 3, 8)
odd = np.full((401, 499), 0.3, "f4")
for op in ("RandomUniformLike", "RandomNormalLike", "Bernoulli"):
    draw(op, {"x": odd}, threads=ALL)
    draw(op, {"x": odd}, threads=ALL, seed=7.0)
draw("Multinomial", {"x": odd[:3]}, threads=ALL, sample_size=33333)
draw("Dropout", {"x": odd, "r": ratio, "t": training}, threads=ALL)

# --- runs without a seed ---

two = program([helper.make_node("RandomUniform", [], ["y"], dtype=F64, shape=[N]), helper.make_node("RandomUniform", [], ["z"], dtype=F64, shape=[N])], {}, ["y", "z"])
session = two.session(threads=1)
first, again = session.run({}), session.run({})
fits("two nodes", pairs(first["y"], first["z"]), CHI[255])
fits("two runs", pairs(first["y"], again["y"]), CHI[255])
fits("without a seed", ks(first["y"], even), KS)
other = two.session(threads=3).run({})
say(np.array_equal(first["y"], other["y"]) and np.array_equal(first["z"], other["z"]), "another session, the same numbers")
sys.exit(1 if failed else 0)
