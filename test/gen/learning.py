"""Recipes: classical machine learning (ai.onnx.ml)."""
import numpy as np
from onnx import TensorProto, helper

from draw import ML, NAMES, Illegal, recipe

F32, F64, I64, STRING = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64, TensorProto.STRING
POSTS = ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"]
WORDS = ["a", "b", "ab", "é", "", "zz"]


def reals(g, n, low=-2, high=2):
    return [float(np.float32(v)) for v in g.rng.uniform(low, high, n)]


def slack(g, plain):
    """The probit is steep at both ends."""
    return 4000 if g.attrs.get("post_transform") == "PROBIT" else plain


def rows(g, columns=None):
    """(rows, columns) of the first operand."""
    return g.pick([1, 1, 2, 3, 5]), columns or g.int(1, 4)


@recipe("ArrayFeatureExtractor", domain=ML)
def array_feature_extractor(g):
    x = g.x(g.dims((1, 3), 1))
    n = g.int(1, 4)
    g.x(value=[g.int(0, x.shape[-1] - 1) for _ in range(n)], dtype=I64)


@recipe("Binarizer", domain=ML)
def binarizer(g):
    g.x(g.dims((1, 3)))
    g.maybe(threshold=g.pick([0.0, 1.0, -0.5]))


@recipe("Scaler", domain=ML)
def scaler(g):
    n, c = rows(g)
    g.x((n, c), low=-9, high=9)
    one = g.flip(0.3)
    g.attr(offset=reals(g, 1 if one else c), scale=reals(g, 1 if one else c))


@recipe("Normalizer", domain=ML)
def normalizer(g):
    n, c = rows(g)
    x = g.x((n, c) if g.flip(0.7) else (c,), low=-9, high=9)
    g.maybe(norm=g.pick(["MAX", "L1", "L2"]))
    if not x.any(axis=-1).all():
        raise Illegal("rows of zeros: not said")


@recipe("Imputer", domain=ML)
def imputer(g):
    n, c = rows(g)
    x = g.values((n, c), g.t, -3, 3)
    many = g.pick([1, c])
    if g.t in (F32, F64):
        hole = g.pick([float("nan"), 1.0])
        x = np.where(g.rng.random(x.shape) < 0.4, np.asarray(hole, x.dtype), x)
        g.attr(imputed_value_floats=reals(g, many), replaced_value_float=hole)
    else:
        g.attr(imputed_value_int64s=[g.int(-5, 5) for _ in range(many)], replaced_value_int64=g.int(-2, 2))
    g.x(value=x)


@recipe("FeatureVectorizer", domain=ML)
def feature_vectorizer(g):
    n = g.pick([1, 2, 3])
    widths = [g.int(1, 3) for _ in range(g.int(1, 3))]
    for w in widths:
        g.x((n, w))
    g.attr(inputdimensions=widths)


@recipe("OneHotEncoder", domain=ML)
def one_hot_encoder(g):
    shape = g.dims((1, 2), 1)
    if g.t == STRING:
        kept = WORDS[:g.int(1, 5)]
        g.attr(cats_strings=kept)
        pool = WORDS
    else:
        kept = sorted({g.int(-3, 5) for _ in range(g.int(1, 4))})
        g.attr(cats_int64s=kept)
        pool = list(range(-4, 7))
    strict = g.flip(0.3)
    if strict:
        g.attr(zeros=0)
    pool = kept if strict else pool
    g.x(value=np.array([g.pick(pool) for _ in range(int(np.prod(shape)))], dtype=object if g.t == STRING else None).reshape(shape))


@recipe("CategoryMapper", domain=ML)
def category_mapper(g):
    names = WORDS[:g.int(1, 5)]
    numbers = [int(v) for v in g.rng.permutation(9)[:len(names)]]
    g.attr(cats_strings=names, cats_int64s=numbers)
    g.maybe(default_string="none")
    g.maybe(default_int64=-7)
    shape = g.dims((1, 2), 1)
    pool = WORDS if g.t == STRING else list(range(9))
    g.x(value=np.array([g.pick(pool) for _ in range(int(np.prod(shape)))], dtype=object if g.t == STRING else "i8").reshape(shape))
    g.bound["T2"] = I64 if g.t == STRING else STRING


def label_values(g, kind, n):
    if kind == "strings":
        return [str(w) for w in g.rng.permutation(["a", "b", "ab", "é", "zz", "x"])[:n]]
    if kind == "int64s":
        return [int(v) for v in g.rng.permutation(12)[:n] - 4]
    return [float(v) / 2 for v in g.rng.permutation(12)[:n] - 4]


@recipe("LabelEncoder", domain=ML)
def label_encoder(g):
    kinds = {STRING: "strings", I64: "int64s", F32: "floats"}
    if g.v == 1:
        names = label_values(g, "strings", g.int(1, 4))
        g.attr(classes_strings=names)
        g.maybe(default_string="none")
        g.maybe(default_int64=-7)
        pool = names + ["q"] if g.t == STRING else list(range(-1, len(names) + 1))
        g.bound["T2"] = I64 if g.t == STRING else STRING
    else:
        if g.t not in kinds:
            raise Illegal("tensors of keys: the tests of the onnx package have them")
        to = g.pick([STRING, I64, F32])
        n = g.int(1, 5)
        keys = label_values(g, kinds[g.t], n)
        g.attr(**{"keys_" + kinds[g.t]: keys, "values_" + kinds[to]: label_values(g, kinds[to], n)})
        g.maybe(default_string="none")
        g.maybe(default_int64=-7)
        g.maybe(default_float=2.5)
        pool = keys + {STRING: ["q"], I64: [99], F32: [99.5, float("nan")]}[g.t]
        g.bound["T2"] = to
    shape = g.dims((1, 3), 0)
    g.x(value=np.array([g.pick(pool) for _ in range(int(np.prod(shape)))], dtype={STRING: object, I64: "i8", F32: "f4"}[g.t]).reshape(shape))


def labels(g, n):
    if g.flip():
        g.attr(classlabels_ints=[int(v) for v in g.rng.permutation(20)[:n] - 5])
    else:
        g.attr(classlabels_strings=[str(w) for w in g.rng.permutation(["a", "b", "ab", "é", "zz", "x"])[:n]])


@recipe("LinearRegressor", domain=ML)
def linear_regressor(g):
    n, c = rows(g)
    targets = g.int(1, 3)
    g.x((n, c), low=-2, high=2)
    g.attr(coefficients=reals(g, targets * c, -1, 1), targets=targets)
    g.maybe(intercepts=reals(g, targets, -1, 1))
    g.maybe(post_transform=g.pick(POSTS))
    g.tolerance = slack(g, 4)


@recipe("LinearClassifier", domain=ML)
def linear_classifier(g):
    n, c = rows(g)
    classes = g.int(2, 4)
    scores = 1 if classes == 2 and g.flip() else classes
    g.x((n, c), low=-2, high=2)
    labels(g, classes)
    g.attr(coefficients=reals(g, scores * c, -1, 1), intercepts=reals(g, scores, -1, 1))
    g.attr(post_transform=g.pick(POSTS if scores > 1 else POSTS[:4]))
    g.maybe(multi_class=0)
    g.outputs = 2
    g.tolerance = slack(g, 4)


def svm_kernel(g):
    g.attr(kernel_type=g.pick(["LINEAR", "RBF", "POLY", "SIGMOID"]), kernel_params=[float(np.float32(g.rng.uniform(0.1, 0.6))), g.pick([0.0, 0.5]), float(g.int(1, 3))])


@recipe("SVMRegressor", domain=ML)
def svm_regressor(g):
    n, c = rows(g)
    g.x((n, c), low=-2, high=2)
    svm_kernel(g)
    if g.flip(0.7):
        vectors = g.int(1, 5)
        g.attr(support_vectors=reals(g, vectors * c), coefficients=reals(g, vectors), n_supports=vectors)
    else:
        g.attr(kernel_type="LINEAR", coefficients=reals(g, c))
    g.attr(rho=reals(g, 1))
    g.maybe(one_class=g.int(0, 1))
    g.maybe(post_transform="NONE")
    g.tolerance = 8


@recipe("SVMClassifier", domain=ML)
def svm_classifier(g):
    n, c = rows(g)
    classes = g.int(2, 4)
    pairs = classes * (classes - 1) // 2
    g.x((n, c), low=-2, high=2)
    svm_kernel(g)
    labels(g, classes)
    shares = g.flip()
    each = [g.int(1, 3) for _ in range(classes)]
    g.attr(vectors_per_class=each, support_vectors=reals(g, sum(each) * c), coefficients=reals(g, sum(each) * (classes - 1)), rho=reals(g, pairs, -0.5, 0.5))
    if shares:
        g.attr(prob_a=reals(g, pairs, -2, -0.5), prob_b=reals(g, pairs, -0.3, 0.3))
    g.attr(post_transform=g.pick(POSTS if classes > 2 or shares else POSTS[:4]))
    g.outputs = 2
    g.tolerance = slack(g, 16)


def grow(g, columns, depth, modes):
    """A tree as nested tuples: (column, mode, value, tracks_true, left, right), or None for a leaf."""
    if depth == 0 or g.flip(0.25):
        return None
    value = float(np.float32(g.pick([0.0, 0.5, -0.5, 1.0, 2.0]) if g.flip() else g.rng.uniform(-2, 2)))
    return (g.int(0, columns - 1), g.pick(modes), value, g.int(0, 1), grow(g, columns, depth - 1, modes), grow(g, columns, depth - 1, modes))


def old_trees(g, columns, outcomes, prefix):
    """Attributes of the forms before TreeEnsemble-5. it.partial: some leaf votes for some of the outcomes only."""
    g.partial = g.flip()
    modes = ["BRANCH_LEQ"] if g.flip(0.5) else ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]
    a = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
    leaves = {k: [] for k in ("treeids", "nodeids", "ids", "weights")}
    for t in range(g.int(1, 4)):
        numbered = [0]

        def lay(tree, number):
            at = len(a["treeids"])
            for k, v in (("treeids", t), ("nodeids", number), ("featureids", 0), ("values", 0.0), ("modes", "LEAF"), ("truenodeids", 0), ("falsenodeids", 0), ("missing_value_tracks_true", 0)):
                a[k].append(v)
            if tree is None:
                for i in sorted({g.int(0, outcomes - 1) for _ in range(outcomes)}) if g.partial else range(outcomes):
                    for k, v in (("treeids", t), ("nodeids", number), ("ids", i), ("weights", float(np.float32(g.rng.uniform(-1, 1))))):
                        leaves[k].append(v)
                return
            left = numbered[0] = numbered[0] + 1
            right = numbered[0] = numbered[0] + 1
            column, mode, value, tracks, yes, no = tree
            for k, v in (("featureids", column), ("values", value), ("modes", mode), ("truenodeids", left), ("falsenodeids", right), ("missing_value_tracks_true", tracks)):
                a[k][at] = v
            lay(yes, left)
            lay(no, right)

        lay(grow(g, columns, 3, modes), 0)
    g.unlike_nan = g.has_nan and "BRANCH_NEQ" in a["modes"]
    g.attr(**{"nodes_" + k: v for k, v in a.items()}, **{prefix + "_" + k: v for k, v in leaves.items()})


def tree_input(g, columns):
    n = g.pick([1, 1, 2, 3, 40])
    if g.t in (F32, F64):
        x = g.values((n, columns), g.t, -2, 2)
        exact = g.rng.random(x.shape)
        x = np.where(exact < 0.3, np.asarray(g.pick([0.0, 0.5, 1.0]), x.dtype), x)
        if g.flip(0.3):
            x = np.where(g.rng.random(x.shape) < 0.2, np.asarray(np.nan, x.dtype), x)
        g.has_nan = bool(np.isnan(x).any())
        return g.x(value=x)
    g.has_nan = False
    return g.x((n, columns), low=-2, high=2)


@recipe("TreeEnsembleRegressor", domain=ML)
def tree_regressor(g):
    columns, targets = g.int(1, 4), g.int(1, 3)
    tree_input(g, columns)
    old_trees(g, columns, targets, "target")
    g.attr(n_targets=targets)
    g.maybe(aggregate_function=g.pick(["SUM", "AVERAGE", "MIN", "MAX"]))
    g.maybe(base_values=reals(g, targets))
    g.maybe(post_transform=g.pick(POSTS))
    g.tolerance = slack(g, 4)


@recipe("TreeEnsembleClassifier", domain=ML)
def tree_classifier(g):
    columns, classes = g.int(1, 4), g.int(2, 4)
    tree_input(g, columns)
    old_trees(g, columns, classes, "class")
    labels(g, classes)
    g.n_classes = classes
    g.maybe(base_values=reals(g, classes))
    g.maybe(post_transform=g.pick(POSTS))
    g.outputs = 2
    g.tolerance = slack(g, 4)


@recipe("TreeEnsemble", domain=ML)
def tree_ensemble(g):
    columns, targets = g.int(1, 4), g.int(1, 3)
    if g.t not in (F32, F64):
        raise Illegal("ONNX Runtime has float and double")
    x = tree_input(g, columns)
    kind = x.dtype
    modes = [g.pick([0, 1, 2, 3, 4, 5])] if g.flip() else [0, 1, 2, 3, 4, 5]
    nodes, leaves, roots = [], [], []

    def lay(tree):
        """The place of a tree's node (>= 0), or ~place of a leaf."""
        if tree is None:
            leaves.append((g.int(0, targets - 1), g.rng.uniform(-1, 1)))
            return ~(len(leaves) - 1)
        at = len(nodes)
        nodes.append(None)
        column, mode, value, tracks, yes, no = tree
        nodes[at] = (column, mode, value, tracks, lay(yes), lay(no))
        return at

    for _ in range(g.int(1, 3)):
        tree = grow(g, columns, 3, modes) or (0, modes[0], 0.5, 0, None, None)
        roots.append(lay(tree))
    tensor = lambda name, values, t: helper.make_tensor(name, t, [len(values)], values)
    g.attr(nodes_featureids=[n[0] for n in nodes], nodes_modes=tensor("m", [n[1] for n in nodes], TensorProto.UINT8),
           nodes_splits=tensor("s", np.array([n[2] for n in nodes], kind).tolist(), g.t), nodes_missing_value_tracks_true=[n[3] for n in nodes],
           nodes_trueleafs=[int(n[4] < 0) for n in nodes], nodes_truenodeids=[n[4] if n[4] >= 0 else ~n[4] for n in nodes],
           nodes_falseleafs=[int(n[5] < 0) for n in nodes], nodes_falsenodeids=[n[5] if n[5] >= 0 else ~n[5] for n in nodes],
           leaf_targetids=[l[0] for l in leaves], leaf_weights=tensor("w", np.array([l[1] for l in leaves], kind).tolist(), g.t),
           tree_roots=roots, n_targets=targets)
    g.maybe(aggregate_function=g.int(0, 3))
    g.maybe(post_transform=g.int(0, 3))
    g.partial = targets > 1
    g.unlike_nan = g.has_nan and 5 in [n[1] for n in nodes]
    g.tolerance = slack(g, 4)


@recipe("ZipMap", domain=ML)
def zip_map(g):
    n, c = rows(g)
    g.x((n, c))
    if g.flip():
        g.attr(classlabels_int64s=[int(v) for v in g.rng.permutation(20)[:c] - 5])
    else:
        g.attr(classlabels_strings=[str(w) for w in g.rng.permutation(["a", "b", "ab", "é", "zz", "x"])[:c]])
