# needs: numpy onnx onnxruntime
"""Operators of ai.onnx.ml against ONNX Runtime."""
import numpy as np

from _both import check, finish, ints, real, refuse, text

ML = dict(domain="ai.onnx.ml", version=3)
POSTS = ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT")

for rows in (1, 7):
    x = real(rows, 4)
    at = "%d rows" % rows
    check(at, "Scaler", [("x", x)], offset=[1.0, 2.0, 3.0, 4.0], scale=[0.5, 2.0, 1.0, 3.0], **ML)
    check(at, "Scaler", [("x", ints(-5, 5, rows, 4))], offset=[1.5], scale=[0.5], **ML)
    for norm in ("MAX", "L1", "L2"):
        check(at, "Normalizer", [("x", x)], norm=norm, **ML)
    holes = x.copy()
    holes[0, 1] = np.nan
    check(at, "Imputer", [("x", holes)], imputed_value_floats=[1.0, 2.0, 3.0, 4.0], replaced_value_float=float("nan"), **ML)
    check(at, "Imputer", [("x", ints(0, 3, rows, 4))], imputed_value_int64s=[9], replaced_value_int64=1, **ML)
    check(at, "Binarizer", [("x", x)], threshold=0.2, **ML)
    check(at, "OneHotEncoder", [("x", ints(0, 5, rows, 2))], cats_int64s=[1, 3, 4], **ML)
    check(at, "OneHotEncoder", [("x", np.arange(2 * rows).reshape(rows, 2))], cats_int64s=[1, 3, 1], **ML)  # the last of equal ones counts
    check(at, "OneHotEncoder", [("x", text(*"abcabcd"[:rows]))], cats_strings=["a", "c"], **ML)
    check(at, "OneHotEncoder", [("x", text(*"abcabca"[:rows]))], cats_strings=["a", "b", "c"], zeros=0, **ML)
    refuse(at, "OneHotEncoder", [("x", text(*"xbcabca"[:rows]))], cats_strings=["a", "b", "c"], zeros=0, **ML)
    check(at, "ArrayFeatureExtractor", [("x", x), ("i", np.array([2, 0]))], **ML)
    check("vector", "ArrayFeatureExtractor", [("x", x[0]), ("i", np.array([2, 0]))], **ML)
    check(at, "FeatureVectorizer", [("a", x), ("b", real(rows, 2))], inputdimensions=[4, 2], **ML)
    weights = [float(v) for v in real(12)]
    for post in POSTS:
        check(post, "LinearRegressor", [("x", x)], targets=3, coefficients=weights, intercepts=[0.1, 0.2, 0.3], post_transform=post, **ML)
        check(post, "LinearClassifier", [("x", x)], outputs=2, coefficients=weights, intercepts=[0.1, 0.2, 0.3], classlabels_ints=[5, 6, 7], post_transform=post, **ML)
        if post != "PROBIT":  # of one score ONNX Runtime gives a column that nobody wrote
            check("one " + post, "LinearClassifier", [("x", x)], outputs=2, coefficients=weights[:4], intercepts=[0.1], classlabels_strings=["no", "yes"], post_transform=post, **ML)
    check("text", "LinearClassifier", [("x", x)], outputs=2, coefficients=weights, intercepts=[0.1, 0.2, 0.3], classlabels_strings=["a", "b", "c"], **ML)
    for kind, params in (("LINEAR", [0.0, 0.0, 0.0]), ("RBF", [0.5, 0.0, 0.0]), ("POLY", [0.5, 1.0, 3.0]), ("SIGMOID", [0.3, 0.1, 0.0])):
        check(kind, "SVMRegressor", [("x", x)], kernel_type=kind, kernel_params=params, support_vectors=weights, coefficients=[0.5, -1.0, 2.0], n_supports=3, rho=[0.25], tolerance=1e-4, **ML)
        for post in POSTS:
            many = dict(kernel_type=kind, kernel_params=params, support_vectors=weights * 2, vectors_per_class=[2, 1, 3], coefficients=weights, rho=[0.1, -0.2, 0.3], tolerance=1e-4, post_transform=post, **ML)
            two = dict(kernel_type=kind, kernel_params=params, support_vectors=weights, vectors_per_class=[2, 1], coefficients=weights[:3], rho=[0.1], tolerance=1e-4, post_transform=post, **ML)
            label = "%s %s" % (kind, post)
            check(label, "SVMClassifier", [("x", x)], outputs=2, classlabels_ints=[7, 8, 9], **many)
            check("shares " + label, "SVMClassifier", [("x", x)], outputs=2, classlabels_strings=["a", "b", "c"], prob_a=[-1.5, -0.5, 0.25], prob_b=[0.1, 0.0, -0.2], **many)
            check("shares of two " + label, "SVMClassifier", [("x", x)], outputs=2, classlabels_ints=[7, 8], prob_a=[-1.5], prob_b=[0.1], **two)
            if post != "PROBIT":
                check("two " + label, "SVMClassifier", [("x", x)], outputs=2, classlabels_strings=["no", "yes"], **two)
            check("regressor " + label, "SVMRegressor", [("x", x)], kernel_type=kind, kernel_params=params, support_vectors=weights, coefficients=[0.5, -1.0, 2.0], n_supports=3, rho=[0.25], tolerance=1e-4, post_transform="NONE", one_class=1, **ML)
    for labels in ([5], [5, 6], [5, 6, 7]):
        for sign in (1, -1):
            linear = [sign * abs(w) for w in weights[:4 * len(labels)]]
            check("linear", "SVMClassifier", [("x", x)], outputs=2, kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0], coefficients=linear, rho=[0.1], classlabels_ints=labels, **ML)
    check("linear", "SVMRegressor", [("x", x)], kernel_type="LINEAR", kernel_params=[0.0, 0.0, 0.0], coefficients=weights[:4], rho=[0.1], **ML)
    check(at, "LabelEncoder", [("x", ints(0, 5, rows))], keys_int64s=[1, 2, 3], values_strings=["a", "b", "c"], **ML)
    check(at, "LabelEncoder", [("x", text(*"abcabcd"[:rows]))], keys_strings=["a", "b"], values_int64s=[4, 5], default_int64=9, **ML)
    check(at, "LabelEncoder", [("x", holes[:, 1])], keys_floats=[float("nan"), 1.0], values_floats=[4.0, 5.0], default_float=-2.0, domain="ai.onnx.ml", version=4)
    check(at, "CategoryMapper", [("x", text(*"abcabcd"[:rows]))], cats_strings=["a", "b"], cats_int64s=[4, 5], **ML)
    check(at, "CategoryMapper", [("x", ints(3, 7, rows))], cats_strings=["a", "b"], cats_int64s=[4, 5], **ML)

    # Two trees of depth 2 and 1: node 0 splits, then leaves.
    nodes = dict(
        nodes_treeids=[0, 0, 0, 0, 0, 1, 1, 1], nodes_nodeids=[0, 1, 2, 3, 4, 0, 1, 2], nodes_featureids=[0, 1, 0, 0, 0, 3, 0, 0],
        nodes_modes=["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF", "BRANCH_LT", "LEAF", "LEAF"],
        nodes_values=[0.1, -0.2, 0.0, 0.0, 0.0, 0.3, 0.0, 0.0], nodes_truenodeids=[1, 3, 0, 0, 0, 1, 0, 0],
        nodes_falsenodeids=[2, 4, 0, 0, 0, 2, 0, 0], nodes_missing_value_tracks_true=[0, 1, 0, 0, 0, 0, 0, 0])
    leaves = ([0, 0, 0, 1, 1], [2, 3, 4, 1, 2])
    for aggregate in ("SUM", "AVERAGE", "MIN", "MAX"):
        many = aggregate in ("SUM", "AVERAGE")  # ONNX Runtime leaves base values out where nothing votes
        check(aggregate, "TreeEnsembleRegressor", [("x", holes)], n_targets=1 + int(many), target_treeids=leaves[0], target_nodeids=leaves[1], target_ids=[0, 0, 0, int(many), int(many)], target_weights=[1.5, -2.0, 3.0, 0.5, 4.0], aggregate_function=aggregate, base_values=[0.5, 0.25][:1 + many], **nodes, **ML)
    for post in POSTS:
        check(post, "TreeEnsembleClassifier", [("x", x)], outputs=2, classlabels_int64s=[3, 4, 5], class_treeids=leaves[0], class_nodeids=leaves[1], class_ids=[0, 1, 2, 1, 0], class_weights=[1.5, 2.0, 3.0, 0.5, 4.0], post_transform=post, **nodes, **ML)
    for weights_2 in ([0.25, 0.5, 0.75, 0.125, 0.0], [-1.0, 2.0, -0.5, 0.125, 1.0]):
        for post in POSTS[:-1]:
            check("two " + post, "TreeEnsembleClassifier", [("x", x)], outputs=2, classlabels_strings=["no", "yes"], class_treeids=leaves[0], class_nodeids=leaves[1], class_ids=[0] * 5, class_weights=weights_2, post_transform=post, **nodes, **ML)

finish()
