"""Pipelines of scikit-learn, trained on data made here and converted by skl2onnx.

Each row of PIPELINES gives (fitted model, inputs, methods): the inputs are one matrix, or {name: matrix} whose columns
side by side are the model's; the methods give what scikit-learn says to the outputs, in order."""
import numpy as np

ROWS = (1, 7, 40)


def numbers(classes=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((200, 6)).astype("f4")
    score = x[:, 0] - x[:, 1] * x[:, 2] + 0.3 * rng.standard_normal(200)
    return x, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes)), score.astype("f4")


def scaled(last, classes=3, target=None):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    x, labels, score = numbers(classes)
    return make_pipeline(StandardScaler(), last).fit(x, score if target == "score" else labels), x


CLASSIFIES, REGRESSES = ("predict", "predict_proba"), ("predict",)


def boosted(classes):
    from sklearn.ensemble import GradientBoostingClassifier
    return scaled(GradientBoostingClassifier(n_estimators=10, random_state=0), classes) + (CLASSIFIES,)


def boosted_regressor():
    from sklearn.ensemble import GradientBoostingRegressor
    return scaled(GradientBoostingRegressor(n_estimators=10, random_state=0), target="score") + (REGRESSES,)


def forest():
    from sklearn.ensemble import RandomForestClassifier
    return scaled(RandomForestClassifier(n_estimators=10, random_state=0)) + (CLASSIFIES,)


def machine(kernel, probability, classes):
    from sklearn.svm import SVC
    methods = CLASSIFIES if probability else ("predict", "decision_function")
    return scaled(SVC(kernel=kernel, probability=probability, random_state=0), classes) + (methods,)


def machine_regressor(kernel):
    from sklearn.svm import SVR
    return scaled(SVR(kernel=kernel), target="score") + (REGRESSES,)


def logistic():
    from sklearn.linear_model import LogisticRegression
    return scaled(LogisticRegression()) + (CLASSIFIES,)


def neighbours():
    from sklearn.neighbors import KNeighborsClassifier
    return scaled(KNeighborsClassifier()) + (CLASSIFIES,)


def network():
    from sklearn.neural_network import MLPClassifier
    return scaled(MLPClassifier((16,), max_iter=100, random_state=0)) + (CLASSIFIES,)


def columns(seed=0):
    """Numbers with holes, texts, whole numbers; and labels that follow from them."""
    rng = np.random.default_rng(seed)
    real = rng.standard_normal((200, 3)).astype("f4")
    words = rng.choice(["red", "green", "blue", "\u00fcber"], (200, 2))
    labels = np.where(real[:, 0] + (words[:, 0] == "red") - (words[:, 1] == "blue") > 0.3, "yes", "no")
    real[rng.random(real.shape) < 0.1] = np.nan
    return real, words, labels


def mixed(last):
    """A scaler over imputed numbers beside one-hot columns of texts."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler
    real, words, labels = columns()
    x = np.concatenate([real.astype(object), words.astype(object)], 1)
    parts = ColumnTransformer([("numbers", make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), [0, 1, 2]),
                               ("words", OneHotEncoder(handle_unknown="ignore"), [3, 4])])
    return make_pipeline(parts, last).fit(x, labels), {"numbers": real, "words": words.astype(object)}, CLASSIFIES


def mixed_boosted():
    from sklearn.ensemble import GradientBoostingClassifier
    return mixed(GradientBoostingClassifier(n_estimators=10, random_state=0))


def mixed_machine():
    from sklearn.svm import SVC
    return mixed(SVC(probability=True, random_state=0))


def texts():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    rng = np.random.default_rng(0)
    words = rng.choice("a cat sat on the mat and saw two birds in an old tree".split(), (200, 7))
    lines = np.array([" ".join(w) for w in words], dtype=object)
    labels = ["bird" if "birds" in line else "cat" if "cat" in line else "none" for line in lines]
    return make_pipeline(TfidfVectorizer(token_pattern="[a-z]+"), LogisticRegression()).fit(lines, labels), {"lines": lines[:, None]}, CLASSIFIES


PIPELINES = {
    "boosted trees, 3 classes": lambda: boosted(3),
    "boosted trees, 2 classes": lambda: boosted(2),
    "boosted trees, regression": boosted_regressor,
    "random forest": forest,
    "SVC rbf, probabilities": lambda: machine("rbf", True, 3),
    "SVC rbf, 2, probabilities": lambda: machine("rbf", True, 2),
    "SVC poly, votes": lambda: machine("poly", False, 3),
    "SVC sigmoid, 4, votes": lambda: machine("sigmoid", False, 4),
    "SVC linear, 2, votes": lambda: machine("linear", False, 2),
    "SVR rbf": lambda: machine_regressor("rbf"),
    "logistic regression": logistic,
    "nearest neighbours": neighbours,
    "perceptron": network,
    "mixed columns, trees": mixed_boosted,
    "mixed columns, SVC": mixed_machine,
    "tf-idf of texts": texts,
}


def convert(name, zipmap):
    """(the converted model's bytes, inputs by name, what scikit-learn says to the outputs) for each number of ROWS."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    model, inputs, methods = PIPELINES[name]()
    inputs = inputs if isinstance(inputs, dict) else {"x": inputs}
    kinds = [(n, (StringTensorType if a.dtype == object else FloatTensorType)([None, a.shape[1]])) for n, a in inputs.items()]
    options = {}
    if "predict_proba" in methods or "decision_function" in methods:
        options["zipmap"] = zipmap
    if "decision_function" in methods:
        options["raw_scores"] = True
    proto = convert_sklearn(model, initial_types=kinds, options={id(model.steps[-1][1]): options} if options else None,
                            target_opset={"": 20, "ai.onnx.ml": 3})
    cases = []
    for rows in ROWS:
        feed = {n: a[:rows] for n, a in inputs.items()}
        x = np.concatenate([a.astype(object) for a in feed.values()], 1) if len(feed) > 1 else feed[kinds[0][0]]
        x = x.ravel() if name == "tf-idf of texts" else x  # a vectoriser takes a list
        cases.append((feed, [np.asarray(getattr(model, m)(x)) for m in methods]))
    return proto.SerializeToString(), cases
