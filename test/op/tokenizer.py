# needs: numpy onnx onnxruntime
"""Tokenizer of com.microsoft against ONNX Runtime, which searches with RE2."""
import numpy as np

from _both import check, finish, refuse, text

PLAIN = dict(mark=0, pad_value="#", mincharnum=1)


def tokens(strings, label="", **attrs):
    check(label or str(attrs), "Tokenizer", [("x", strings if isinstance(strings, np.ndarray) else text(*strings))], **{**PLAIN, **attrs})


for mark in (0, 1):
    tokens(["Hello World", "a b  c "], separators=[" "], mark=mark)
    tokens(["abc", ""], separators=[""], mark=mark)
    tokens(["ab\u00e9", "x\ny", ""], tokenexp=".", mark=mark)
    tokens(["", ""], separators=[" "], mark=mark)
    tokens(np.array([["a b", "c"], ["", "d e f"]], object), separators=[" "], mark=mark)
tokens(["ab,c d;e"], separators=[" ", ",", ";"])
tokens(["xaaby"], separators=["a", "ab"])
tokens(["ab,,c", "\u00e9,"], separators=[","], mincharnum=2)
tokens([" a  b "], separators=[" "], mincharnum=3)
for empty in ("a*", "b*", "(b|)"):  # separators that match nothing, too
    for strings in (["aab"], ["xaaby"], ["\u00e9a\u00e9", "\U0001f600b"]):
        tokens(strings, separators=[empty])
        tokens(strings, tokenexp=empty)
tokens(["foobar fooba"], "the longest", tokenexp="foo|foobar")
tokens(["aXbX ab12"], tokenexp="[a-z]*")
tokens(["ab\u00e9 x123 y"], tokenexp="[a-z\u00e9]+")
tokens(["aaa"], tokenexp="^a")
tokens(["ab cd abcd"], tokenexp="\\bc")
tokens(["ab cd", "d d"], tokenexp="d$")
tokens(["A1b"], tokenexp="(?i)a1")
tokens(["a1b"], "separators first", separators=["a"], tokenexp="b")

# Random expressions and texts over few letters, where alternatives of many lengths meet.
rng = np.random.default_rng(5)


def pattern(depth=0):
    kind = rng.integers(0, 7 if depth < 3 else 3)
    if kind < 3:
        return ["a", "b", "[ab]", "ab", "ba", "."][rng.integers(0, 6 if depth else 5)]
    inner = pattern(depth + 1)
    return [inner + pattern(depth + 1), "(%s|%s)" % (inner, pattern(depth + 1)), "(%s)*" % inner, "(%s){1,2}" % inner][kind - 3]


for _ in range(40):
    strings = ["".join(rng.choice(list("aab b"), rng.integers(0, 12))) for _ in range(4)] + ["abab"]
    how = dict(separators=[pattern() for _ in range(rng.integers(1, 3))]) if rng.random() < 0.5 else dict(tokenexp=pattern())
    tokens(strings, mark=int(rng.integers(0, 2)), mincharnum=int(rng.integers(1, 3)) if how.get("tokenexp") != "." else 1, **how)

refuse("no expression", "Tokenizer", [("x", text("a"))], **PLAIN)
refuse("bad expression", "Tokenizer", [("x", text("a"))], tokenexp="(", **PLAIN)
refuse("no length", "Tokenizer", [("x", text("a"))], tokenexp="a", mark=0, pad_value="#", mincharnum=0)
finish()
