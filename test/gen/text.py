"""Recipes: strings."""
import re

import numpy as np
from onnx import TensorProto

from draw import Illegal, recipe

STRING = TensorProto.STRING
LETTERS = ["a", "b", "c", "A", "B", "Z", "z", "0", "7", "_", " ", "-", ".", "\t", "é", "Ü", "ß", "я", "Ж", "中", "😀", "ſ", "İ"]
# Where all of Unicode's rules for one letter agree with the C library's, which is what ONNX Runtime asks.
PLAIN = [c for c in LETTERS if c not in "ſİß"]


def word(g, letters=None, most=6):
    letters = letters or g.pick([LETTERS, LETTERS[:13], "abAB"])
    return "".join(g.pick(letters) for _ in range(g.int(0, most)))


def words(g, shape, **how):
    count = int(np.prod(shape))
    return np.array([word(g, **how) for _ in range(count)], dtype=object).reshape(shape)


@recipe("StringConcat")
def string_concat(g):
    for shape in g.broadcast(2, (0, 3)):
        g.x(value=words(g, shape))


@recipe("StringSplit")
def string_split(g):
    mark = g.pick([None, "", " ", ",", "ab", "a", "é", "--"])
    shape = g.dims((1, 3), 1)
    glue = mark or " "
    value = [glue.join(word(g, most=3) for _ in range(g.int(0, 4))) + g.pick(["", glue, " "]) for _ in range(int(np.prod(shape)))]
    g.x(value=np.array(value, dtype=object).reshape(shape))
    g.attr(delimiter=mark)
    g.has_empty = "" in value
    g.has_tab = any("\t" in v for v in value)
    g.maybe(maxsplit=g.int(0, 4))
    g.outputs = 2


@recipe("StringNormalizer")
def string_normalizer(g):
    n = g.int(0, 5)
    g.attr(locale=g.pick(["C", "C.UTF-8"]))  # those that every machine has
    letters = PLAIN if g.attrs["locale"] != "C" else PLAIN[:13]
    x = words(g, (n,) if g.flip() else (1, n), letters=letters, most=3)
    g.x(value=x)
    stop = [w for w in x.ravel().tolist() if g.flip(0.3)] + [word(g, letters, 2) for _ in range(g.int(0, 2))]
    if stop and g.flip(0.8):
        g.attr(stopwords=[g.pick([w, w.upper(), w.lower()]) for w in stop])
    g.maybe(case_change_action=g.pick(["NONE", "LOWER", "UPPER"]))
    g.maybe(is_case_sensitive=g.int(0, 1))
    if x.size == 0:
        raise Illegal("no words at all: the standard does not say whether one empty word comes out")


def pattern(g, depth=0):
    """A pattern that RE2 and Python's re read alike."""
    kind = g.int(0, 11 if depth < 3 else 5)
    if kind <= 2:
        return re.escape(word(g, "abcAB01 .-_é中", 3))
    if kind == 3:
        return g.pick([".", r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", r"\b", r"\B", "^", r"\x41", r"\."])
    if kind == 4:
        return g.pick(["[abc]", "[^abc]", "[a-c0-9]", r"[\d_]", r"[^\s]", "[A-Z]", "[é-ü]", r"[\]a]", "[-a]", "[a-]"])
    if kind == 5:
        return g.pick(["a", "b", "A", "0", "é", "😀"])
    inner = pattern(g, depth + 1)
    if kind <= 7:
        return inner + pattern(g, depth + 1)
    if kind == 8:
        return "(%s|%s)" % (inner, pattern(g, depth + 1))
    if kind == 9:
        return "(?:%s)%s" % (inner, g.pick(["*", "+", "?", "*?", "+?", "??"]))
    if kind == 10:
        low = g.int(0, 2)
        return "(%s){%s}" % (inner, g.pick([str(low), "%d," % low, "%d,%d" % (low, low + g.int(0, 2))]))
    return "(?%s:%s)" % (g.pick(["i", "s", "i"]), inner)


@recipe("RegexFullMatch")
def regex_full_match(g):
    p = pattern(g)
    g.attr(pattern=p)
    made = []
    for _ in range(int(g.int(1, 6))):
        made.append(word(g, "abcAB01 .-_é中\n", 5))
    g.x(value=np.array(made, dtype=object).reshape(g.pick([(len(made),), (1, len(made))])))


@recipe("TfIdfVectorizer")
def tf_idf(g):
    strings = g.t == STRING
    vocabulary = ["a", "b", "c", "é"] if strings else [1, 2, 3, 5]
    longest = g.int(1, 3)
    pool, counts, n = [], [], 0
    for size in range(1, longest + 1):
        grams = {tuple(g.pick(vocabulary) for _ in range(size)) for _ in range(g.int(1, 3))}
        counts.append(len(pool))
        for gram in sorted(grams):
            pool += gram
            n += 1
    g.attr(mode=g.pick(["TF", "IDF", "TFIDF"]), min_gram_length=g.int(1, longest), max_gram_length=longest, max_skip_count=g.int(0, 3),
           ngram_counts=counts, ngram_indexes=[int(i) for i in g.rng.permutation(n)])
    g.attr(**({"pool_strings": pool} if strings else {"pool_int64s": pool}))
    g.maybe(weights=[float(np.float32(g.rng.uniform(0.1, 2))) for _ in range(n)])
    shape = g.dims((1, 2), 1, 9)
    value = [g.pick(vocabulary + (["zz"] if strings else [9])) for _ in range(int(np.prod(shape)))]
    g.x(value=np.array(value, dtype=object if strings else "i8").reshape(shape))
