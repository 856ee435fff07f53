"""Faults of the judges: cases where ONNX Runtime or the reference implementation is wrong, so that it is not asked."""

from draw import NAMES, WORDS

FAULTS = []


def fault(judge, *ops, when=lambda g: True, reason):
    FAULTS.append((judge, set(ops), when, reason))


def wrong(judge, it):
    return any(judge == who and it.op in ops and when(it) for who, ops, when, _ in FAULTS)


def row_type(*words):
    return lambda g: WORDS.get(g.t_first()) in words


def doubles(g):
    return g.t_first() == NAMES["double"]


fault("runtime", "Slice", when=lambda g: getattr(g, "back_to_end", False),
      reason="step < 0 with end INT_MAX: taken as `to the first element`; the standard clamps it to the last, which leaves nothing")
fault("runtime", "NonZero", when=lambda g: any(a.ndim == 0 for a in [*g.inputs.values(), *g.constants.values()]),
      reason="a scalar gives shape (1, N); the standard says (0, N)")
fault("runtime", "Shrink", when=doubles, reason="doubles are rounded to float")
fault("runtime", "Cast", "CastLike", when=lambda g: NAMES["string"] in g.bound.values(),
      reason="doubles lose digits when printed, and a bool is printed as 1")
fault("reference", "Pad", "CenterCropPad", when=row_type("string"), reason="strings are padded with '0'")
fault("reference", "RMSNormalization", when=lambda g: g.bound.get("V") not in (None, g.bound["T"]), reason="the result has not the type of the scale")
fault("reference", "ReduceSumSquare", when=row_type("uint32"), reason="the result is uint64")
fault("reference", "Erf", "HardSwish", when=doubles, reason="doubles are rounded to float")
fault("reference", "Hardmax", "Softmax", "LogSoftmax", when=lambda g: g.v < 13, reason="does not flatten, as before opset 13")
