"""Random expressions against Python's integers, and sympy where it defines the same: the value of the canonical form, the
canonical text read by Python, and that text read back. bigint.py [DRAWS [SEED]]; TN_DRAWS in the environment."""
import os
import random
import subprocess
import sys
import time

try:
    import numpy
except ImportError:
    numpy = None
try:
    import sympy
except ImportError:
    sympy = None

LINES = os.path.join(os.environ["TENON_BUILD"], "test", "test_sym_lines")
LIMIT = 2 ** 60


class Undefined(Exception):
    pass


def bcast(*sizes):
    other = {s for s in sizes if s != 1}
    if len(other) > 1:
        raise Undefined
    return other.pop() if other else 1


def f32scale(a, c):
    return int(numpy.floor(numpy.float32(a) * numpy.float32(c)))


FUNCTIONS = {"__builtins__": {}, "min": min, "max": max, "bcast": bcast, "f32scale": f32scale,
             "ceildiv": lambda a, b: -(-a // b)}


def draw(r, depth):
    """(text, text for Python, largest magnitude, is sympy able)"""
    if depth == 0 or r.random() < 0.15:
        if r.random() < 0.6:
            name = r.choice("xyzw")
            return name, name, 1000, True
        v = r.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 100, -1, -2, -7))
        return "(%d)" % v, "(%d)" % v, abs(v), True
    a, pa, ma, sa = draw(r, depth - 1)
    b, pb, mb, sb = draw(r, depth - 1)
    s = sa and sb
    k = r.randrange(22)
    if k < 5:
        return "(%s + %s)" % (a, b), "(%s + %s)" % (pa, pb), ma + mb, s
    if k < 8:
        return "(%s - %s)" % (a, b), "(%s - %s)" % (pa, pb), ma + mb, s
    if k < 11:
        return "(%s * %s)" % (a, b), "(%s * %s)" % (pa, pb), ma * mb, s
    if k < 13:
        d = r.choice((2, 2, 3, 4, 8, 7, 16, -2))
        return "(%s // (%d))" % (a, d), "(%s // (%d))" % (pa, d), ma + 1, sa
    if k == 13:
        return "(%s // %s)" % (a, b), "(%s // %s)" % (pa, pb), ma + 1, s
    if k == 14:
        d = r.choice((2, 3, 8))
        return "ceildiv(%s, %d)" % (a, d), "ceildiv(%s, %d)" % (pa, d), ma + 1, False
    if k == 15:
        d = r.choice((2, 3, 4, 8))
        return "(%s %% %d)" % (a, d), "(%s %% %d)" % (pa, d), d, sa
    if k == 16:
        name = r.choice(("min", "max"))
        return "%s(%s, %s)" % (name, a, b), "%s(%s, %s)" % (name, pa, pb), max(ma, mb), s
    if k == 17:
        op = r.choice(("<", "<=", "==", "!=", ">", ">="))
        return "(%s %s %s)" % (a, op, b), "int(%s %s %s)" % (pa, op, pb), 1, False
    if k == 18:
        op = r.choice(("and", "or"))
        return "(%s %s %s)" % (a, op, b), "int(bool(%s) %s bool(%s))" % (pa, op, pb), 1, False
    if k == 19:
        c, pc, _, _ = draw(r, depth - 1)
        return "select(%s, %s, %s)" % (c, a, b), "(%s if %s else %s)" % (pa, pc, pb), max(ma, mb), False
    if k == 20 and numpy is not None:
        c = r.choice(("0.5", "2.0", "1.5", "0.75"))
        return "f32scale(%s, %s)" % (a, c), "f32scale(%s, %s)" % (pa, c), 2 * ma + 1, False
    return "bcast(%s, %s)" % (a, b), "bcast(%s, %s)" % (pa, pb), max(ma, mb), False


def python_value(text, env):
    try:
        return int(eval(text, {**FUNCTIONS, "int": int, "bool": bool}, env))
    except (ZeroDivisionError, Undefined):
        return None


def canonical_value(text, env):
    return python_value(text.replace("select(", "select_("), {**env, "select_": lambda c, a, b: a if c else b})


def sympy_value(text, env):
    names = {n: sympy.Symbol(n, integer=True) for n in "xyzw"}
    e = eval(text, {"__builtins__": {}, "min": sympy.Min, "max": sympy.Max}, names)
    return int(sympy.sympify(e).subs({names[n]: env[n] for n in names}))


def batch(r, n):
    rows = []
    while len(rows) < n:
        text, py, size, able = draw(r, r.choice((2, 3, 3, 4)))
        if size >= LIMIT or len(text) > 20000:
            continue
        env = {n: r.choice((0, 1, 2, r.randrange(100), r.randrange(1000))) for n in "xyzw"}
        rows.append((text, py, env, able))
    return rows


def check(rows, r, counts):
    asked = "".join("%d %d %d %d\t%s\n" % (*(env[n] for n in "xyzw"), text) for text, _, env, _ in rows)
    answers = subprocess.run([LINES], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(rows)
    for (text, py, env, able), line in zip(rows, answers):
        canonical, value, same = line.split("\t")
        want = python_value(py, env)
        assert same == "1", "%s: %s does not parse back" % (text, canonical)
        if want is None:
            continue
        counts["defined"] += 1
        assert value == str(want), "%s at %s: %s gives %s, Python %d" % (text, env, canonical, value, want)
        if not any(s in canonical for s in ("select", "?", "overflow")):
            back = canonical_value(canonical, env)
            if back is None and (" and " in canonical or " or " in canonical):
                continue  # the canonical order of arguments meets the undefined one first
            assert back == want, "%s at %s: the text %s is %s, not %d" % (text, env, canonical, back, want)
        if able and sympy is not None and r.random() < 0.002:
            assert sympy_value(py, env) == want, "sympy: %s" % text
            counts["sympy"] += 1


def main():
    draws = int(sys.argv[1] if len(sys.argv) > 1 else os.environ.get("TN_DRAWS", "20000"))
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    r = random.Random(seed)
    counts = {"defined": 0, "sympy": 0}
    start = time.time()
    for at in range(0, draws, 5000):
        check(batch(r, min(5000, draws - at)), r, counts)
    print("%d draws, %d defined, %d with sympy, %.1f s" % (draws, counts["defined"], counts["sympy"], time.time() - start))
    return 0


if __name__ == "__main__":
    sys.exit(main())
