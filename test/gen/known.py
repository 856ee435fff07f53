"""Faults of the judges: cases where ONNX Runtime or the reference implementation is wrong, so that it is not asked."""

from draw import NAMES, WORDS

FAULTS = []
TREES = ("TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor")


def one_target(g):
    return g.attrs.get("targets", g.attrs.get("n_targets", 1)) == 1


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
fault("runtime", "StringSplit", when=lambda g: not g.attrs.get("delimiter") and g.has_tab, reason="only spaces count as white space")
fault("runtime", "StringSplit", when=lambda g: g.attrs.get("delimiter") and g.has_empty, reason="an empty text has no part; Python's split, the standard's model, gives one, which is empty")
fault("runtime", "StringSplit", when=lambda g: not g.attrs.get("delimiter") and "maxsplit" in g.attrs,
      reason="' a b ' with maxsplit: the rest loses the white space at its end, which Python's split, the standard's model, keeps")
fault("runtime", "TreeEnsembleClassifier", when=lambda g: g.partial, reason="the label is chosen among the classes that a sample's leaves vote for, not among all scores")
fault("runtime", "TreeEnsembleClassifier", when=lambda g: g.n_classes == 2,
      reason="the second of two classes is chosen where its score is above 0 (1/2 if all votes are positive), whatever the first's; with base values both scores come from one")
fault("reference", "TreeEnsembleClassifier", when=lambda g: len(set(g.attrs["class_ids"])) == 1, reason="votes for one class are always taken for those of one of two")
fault("runtime", "TreeEnsemble", "TreeEnsembleRegressor", when=lambda g: g.partial and (g.attrs.get("post_transform", "NONE") not in ("NONE", 0) or "base_values" in g.attrs),
      reason="targets without a vote are left out of the softmax, so that the shares do not add up to 1, and do not get their base value")
fault("runtime", "LinearRegressor", "TreeEnsemble", "TreeEnsembleRegressor", when=lambda g: g.attrs.get("post_transform") in ("SOFTMAX", "SOFTMAX_ZERO", 1, 3) and one_target(g),
      reason="the softmax of one score is 1, not the score")
fault("runtime", "TreeEnsemble", "TreeEnsembleRegressor", when=lambda g: g.attrs.get("post_transform") in ("LOGISTIC", 2) and one_target(g),
      reason="of one score the transform is not done")
fault("runtime", "LinearRegressor", when=lambda g: g.attrs.get("post_transform") in ("LOGISTIC", "PROBIT") and one_target(g),
      reason="of one score the transform is not done")
fault("runtime", *TREES, when=lambda g: g.unlike_nan, reason="a missing value goes to the true branch of BRANCH_NEQ, whatever nodes_missing_value_tracks_true says")
fault("reference", "TreeEnsemble", when=lambda g: g.unlike_nan, reason="a missing value goes to the true branch of BRANCH_NEQ, whatever nodes_missing_value_tracks_true says")
fault("reference", "TreeEnsembleRegressor", when=lambda g: g.partial and g.attrs.get("aggregate_function") in ("MIN", "MAX"), reason="a target without a vote is the largest float")
fault("reference", "TreeEnsembleClassifier", when=lambda g: g.attrs.get("post_transform") in ("PROBIT", "SOFTMAX_ZERO"),
      reason="the label is chosen after the transform, where scores outside (0, 1) are NaN, or 0 stays 0")
fault("reference", "TreeEnsemble", when=lambda g: g.attrs.get("post_transform", 0) != 0, reason="the transform is not done, or done again")
fault("reference", "StringNormalizer", reason="only the words are folded, not the stop words; accents, and white space at the ends of words, are taken away")
fault("reference", "LinearRegressor", "SVMRegressor", "TreeEnsembleRegressor", when=lambda g: g.t_first() != NAMES["float"],
      reason="the result has the type of the input; the standard says float")
