"""Recipes: reductions, softmax, sorting, scans."""
import numpy as np
from onnx import TensorProto

from draw import FLOATS, INTS, NAMES, UNSIGNED, recipe

REDUCES = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
           "ReduceSum", "ReduceSumSquare")


@recipe(*REDUCES)
def reduce(g):
    positive = g.op == "ReduceLogSum" or g.bound["T"] in UNSIGNED
    rank = g.int(0, 4)
    small = g.op == "ReduceProd" and g.bound["T"] in INTS  # beyond the type a product is not defined
    low, high = (1, 4) if positive else (None, None)
    if small:
        low, high = 0 if g.bound["T"] in UNSIGNED else -1, 1
    # Means and extremes of nothing are not defined.
    x = g.x(rank=(rank, rank), low=low, high=high,
            least=0 if g.op in ("ReduceSum", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceProd") and g.v >= 13 else 1)
    g.maybe(keepdims=g.int(0, 1))
    axes = g.axes(rank, 11, 1) if rank else []
    by_input = g.v >= (13 if g.op == "ReduceSum" else 18)
    if by_input:
        g.maybe(noop_with_empty_axes=g.int(0, 1))
        if g.flip(0.7):
            g.x((len(axes),), value=axes, const=g.flip(0.6), dtype=TensorProto.INT64)
    elif axes and g.flip(0.8):
        g.attr(axes=axes)


@recipe("ArgMax", "ArgMin")
def argmax(g):
    x = g.x(rank=(1, 4), least=1, low=-3, high=3) if g.flip() else g.x(rank=(1, 4), least=1)
    g.maybe(axis=g.axis(x.ndim, 11))
    g.maybe(keepdims=g.int(0, 1))
    if g.v >= 12:
        g.maybe(select_last_index=g.int(0, 1))
    if g.attrs.get("axis", 0) >= x.ndim:
        del g.attrs["axis"]


@recipe("Softmax", "LogSoftmax", "Hardmax")
def softmax(g):
    x = g.x(rank=(1, 4))
    default = -1 if g.v >= 13 else 1
    if g.flip(0.7) or default >= x.ndim:
        g.attr(axis=g.axis(x.ndim, 11))


@recipe("CumSum", "CumProd")
def cumsum(g):
    x = g.x(rank=(1, 4))
    g.x((), value=g.axis(x.ndim))
    g.maybe(exclusive=g.int(0, 1))
    g.maybe(reverse=g.int(0, 1))


@recipe("TopK")
def topk(g):
    g.outputs = 2
    x = g.x(rank=(1, 4), least=1, special=False)
    # Distinct along the axis, so that the order is the same everywhere.
    axis = g.axis(x.ndim, 11)
    if g.bound["T"] in FLOATS:
        pass
    k = g.int(0 if g.v >= 10 else 1, x.shape[axis])
    if g.flip(0.8) or axis in (-1, x.ndim - 1):
        g.attr(axis=axis)
    else:
        k = g.int(0 if g.v >= 10 else 1, x.shape[-1])
    g.attr(k=k) if g.v < 10 else g.x((1,), value=[k])
    if g.v >= 11:
        g.maybe(largest=g.int(0, 1))
        if g.attrs.get("sorted", 1):
            g.maybe(sorted=1)


@recipe("Unique")
def unique(g):
    g.outputs = g.int(1, 4)
    x = g.x(rank=(1, 3), least=1, low=-2, high=2)
    if g.flip():
        g.attr(axis=g.axis(x.ndim))
    g.maybe(sorted=1)


@recipe("NonZero")
def nonzero(g):
    g.x(rank=(0, 4), low=-1, high=1)


@recipe("LpNormalization")
def lp_norm(g):
    x = g.x(rank=(1, 4))
    g.maybe(axis=g.axis(x.ndim))
    g.maybe(p=g.int(1, 2))


@recipe("MeanVarianceNormalization")
def mvn(g):
    x = g.x(rank=(4, 4), least=1)
    g.maybe(axes=sorted(set(a % 4 for a in g.axes(4, 99, 1))))
    g.tolerance = 4


@recipe("LayerNormalization")
def layer_norm(g):
    x = g.x(rank=(1, 4), least=1)
    axis = g.axis(x.ndim)
    if g.flip(0.7):
        g.attr(axis=axis)
    else:
        axis = -1
    g.x(x.shape[axis:])
    g.x(x.shape[axis:]) if g.flip() else None
    g.maybe(epsilon=1e-3)
    g.maybe(stash_type=1)
    g.outputs = g.int(1, 3)
    g.tolerance = 8


@recipe("RMSNormalization")
def rms_norm(g):
    x = g.x(rank=(1, 4), least=1)
    axis = g.axis(x.ndim)
    if g.flip(0.7):
        g.attr(axis=axis)
    else:
        axis = -1
    g.x(x.shape[axis:])
    g.maybe(epsilon=1e-3)
    g.tolerance = 4


@recipe("Einsum")
def einsum(g):
    size = {c: g.dim(0, 4) for c in "ijkl"}
    size["b"], size["c"] = g.dim(1, 3), g.dim(1, 3)
    equation = g.pick(["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij,ij->", "i,j->ij", "ii->i", "bij,kj->bik", "ij,jk,kl->il",
                       "...ij,...jk->...ik", "ij", "ij->", "ji,jk", "bi,bi->b", "...i->...", "bhi,bhj->bhij"])
    size["h"] = g.dim(1, 3)
    for term in equation.split("->")[0].split(","):
        shape = [size[c] for c in term.replace("...", "bc")]
        g.x(shape)
    g.attr(equation=equation)
