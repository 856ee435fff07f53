"""The text form of expressions (doc/sym.md), read and evaluated without Tenon's own code: value(text, env).

Exact integers; what leaves int64, other than a term of a sum, is Overflow; division by zero and sizes that do not
broadcast are Undefined."""
import re

import numpy as np

TOKEN = re.compile(r'\s*(?:(\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+)|("(?:[^"\\]|\\.)*")|([A-Za-z_][A-Za-z0-9_.]*)|(//|==|!=|<=|>=|[-+*%<>(),]))')
WORDS = {"and", "or", "not", "min", "max", "bcast", "ceildiv", "select", "f32scale", "f32ratio", "overflow"}


class Undefined(Exception):
    pass


class Overflow(Exception):
    pass


class Unknown(Exception):
    """A symbol without a number."""


def fits(v):
    if not -2**63 <= v < 2**63:
        raise Overflow(v)
    return v


def divided(a, b):
    if b == 0:
        raise Undefined("division by zero")
    return fits(a // b)


def remainder(a, b):
    if b == 0:
        raise Undefined("remainder of zero")
    return a % b


def bcast(sizes):
    others = {s for s in sizes if s != 1}
    if len(others) > 1:
        raise Undefined("bcast of %s" % sorted(others))
    return others.pop() if others else 1


def f32scale(a, c):
    with np.errstate(all="ignore"):
        return int(np.floor(np.float32(a) * np.float32(c)))


def f32ratio(a, n, d):
    if d == 0:
        raise Undefined("ratio to 0")
    with np.errstate(all="ignore"):
        return int(np.floor(np.float64(np.float32(n) / np.float32(d) * np.float32(a)) + 0.5))


def junction(args, env, absorbing):
    """`and` is 0 where any argument is 0, in any order; `or` the same with 1."""
    trouble = None
    for a in args:
        try:
            if bool(a(env)) == absorbing:
                return int(absorbing)
        except (Undefined, Overflow, Unknown) as e:
            trouble = e
    if trouble:
        raise trouble
    return int(not absorbing)


class Parser:
    def __init__(self, text):
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            m = TOKEN.match(text, at)
            if not m:
                raise ValueError("cannot read %r at %d" % (text, at))
            self.tokens.append(m)
            at = m.end()
        self.at = 0

    def peek(self):
        return self.tokens[self.at].group(0).strip() if self.at < len(self.tokens) else ""

    def take(self, *words):
        if self.peek() in words:
            self.at += 1
            return self.tokens[self.at - 1].group(0).strip()
        return None

    def need(self, word):
        if not self.take(word):
            raise ValueError("expected %s, not %r" % (word, self.peek()))

    def several(self, part, word):
        args = [part()]
        while self.take(word):
            args.append(part())
        return args

    def expr(self):
        args = self.several(self.conjunction, "or")
        return args[0] if len(args) == 1 else lambda env: junction(args, env, True)

    def conjunction(self):
        args = self.several(self.negation, "and")
        return args[0] if len(args) == 1 else lambda env: junction(args, env, False)

    def negation(self):
        if self.take("not"):
            a = self.negation()
            return lambda env: int(not a(env))
        return self.chain()

    def chain(self):
        tests, left = [], self.sum()
        while True:
            op = self.take("==", "!=", "<", "<=", ">", ">=")
            if not op:
                break
            right = self.sum()
            tests.append(comparison(op, left, right))
            left = right
        return left if not tests else tests[0] if len(tests) == 1 else lambda env: junction(tests, env, False)

    def sum(self):
        terms = [(1, self.product())]
        while True:
            op = self.take("+", "-")
            if not op:
                break
            terms.append((1 if op == "+" else -1, self.product()))
        return terms[0][1] if len(terms) == 1 else lambda env: fits(sum(c * t(env) for c, t in terms))

    def product(self):
        value = self.unary()
        while True:
            op = self.take("*", "//", "%")
            if not op:
                return value
            value = binary(op, value, self.unary())

    def unary(self):
        if self.take("-"):
            a = self.unary()
            return lambda env: -a(env)
        if self.take("("):
            a = self.expr()
            self.need(")")
            return a
        number, quoted, name, _ = self.tokens[self.at].groups() if self.at < len(self.tokens) else (None,) * 4
        self.at += 1
        if number:
            n = int(number) if number.isdigit() else float(number)
            return lambda env: n
        if quoted:
            return variable(re.sub(r"\\(.)", r"\1", quoted[1:-1]))
        if name == "overflow":
            return overflow
        if name in WORDS and self.take("("):
            args = self.several(self.expr, ",")
            self.need(")")
            return call(name, args)
        if name:
            return variable(name)
        raise ValueError("no operand")


def overflow(env):
    raise Overflow("overflow")


def variable(name):
    def get(env):
        if name not in env:
            raise Unknown(name)
        return env[name]
    return get


def comparison(op, a, b):
    return {"==": lambda env: int(a(env) == b(env)), "!=": lambda env: int(a(env) != b(env)),
            "<": lambda env: int(a(env) < b(env)), "<=": lambda env: int(a(env) <= b(env)),
            ">": lambda env: int(a(env) > b(env)), ">=": lambda env: int(a(env) >= b(env))}[op]


def binary(op, a, b):
    # A product is a term of a sum more often than not: only its size as a result matters.
    return {"*": lambda env: a(env) * b(env), "//": lambda env: divided(a(env), b(env)),
            "%": lambda env: remainder(a(env), b(env))}[op]


def call(name, args):
    if name == "select":
        return lambda env: args[1](env) if args[0](env) else args[2](env)
    if name == "f32scale":
        return lambda env: f32scale(args[0](env), args[1](env))
    if name == "f32ratio":
        return lambda env: f32ratio(args[0](env), args[1](env), args[2](env))
    if name == "ceildiv":
        return lambda env: -divided(-args[0](env), args[1](env))
    function = {"min": min, "max": max, "bcast": bcast}[name]
    return lambda env: function([a(env) for a in args])


COMPILED = {}


def value(text, env):
    """The number behind a dim as JSON has it: an integer or an expression."""
    if isinstance(text, int):
        return text
    if text not in COMPILED:
        if len(COMPILED) > 20000:
            COMPILED.clear()
        parser = Parser(text)
        COMPILED[text] = parser.expr()
        if parser.at != len(parser.tokens):
            raise ValueError("left over in %r: %r" % (text, parser.peek()))
    return fits(COMPILED[text](env))
