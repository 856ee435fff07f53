"""Random expressions against Python's integers, and sympy where it defines the same: the value of the canonical form, the
canonical text read by Python, that text read back (the same pointer), and the same expression with the operands of sums,
products, min, max, bcast, comparisons and logic in another order and grouping (the same pointer again).
bigint.py [DRAWS [SEED]]; TN_DRAWS in the environment."""
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


def f32ratio(a, n, d):
    if d == 0:
        raise Undefined
    return int(numpy.floor(numpy.float64(numpy.float32(n) / numpy.float32(d) * numpy.float32(a)) + 0.5))


FUNCTIONS = {"__builtins__": {}, "min": min, "max": max, "bcast": bcast, "f32scale": f32scale, "f32ratio": f32ratio,
             "ceildiv": lambda a, b: -(-a // b)}


def other(r, op, *operands):
    """The operands of an operator whose order and grouping do not matter: one list with those of the same operator."""
    return (op, [t for o in operands for t in (o[1] if isinstance(o, tuple) and o[0] == op else [o])])


def regroup(r, e):
    """Text of what `other` made, shuffled."""
    if isinstance(e, str):
        return e
    if isinstance(e, list):
        return "".join(regroup(r, part) for part in e)
    op, operands = e
    texts = [regroup(r, o) for o in operands]
    r.shuffle(texts)
    while len(texts) > 1:
        i = r.randrange(len(texts) - 1)
        form = "%s(%%s, %%s)" % op if op[0] in "mb" else "(%%s %s %%s)" % op.strip()
        texts[i:i + 2] = [form % (texts[i], texts[i + 1])]
    return texts[0]


def draw(r, depth):
    """(text, text for Python, largest magnitude, is sympy able, for regroup)"""
    if depth == 0 or r.random() < 0.15:
        if r.random() < 0.6:
            name = r.choice("xyzw")
            return name, name, 1000, True, name
        v = r.choice((0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 100, -1, -2, -7))
        return "(%d)" % v, "(%d)" % v, abs(v), True, "(%d)" % v
    a, pa, ma, sa, oa = draw(r, depth - 1)
    b, pb, mb, sb, ob = draw(r, depth - 1)
    s = sa and sb
    k = r.randrange(22)
    if k < 5:
        return "(%s + %s)" % (a, b), "(%s + %s)" % (pa, pb), ma + mb, s, other(r, "+", oa, ob)
    if k < 8:
        return "(%s - %s)" % (a, b), "(%s - %s)" % (pa, pb), ma + mb, s, ["(", oa, " - ", ob, ")"]
    if k < 11:
        return "(%s * %s)" % (a, b), "(%s * %s)" % (pa, pb), ma * mb, s, other(r, "*", oa, ob)
    if k < 13:
        d = r.choice((2, 2, 3, 4, 8, 7, 16, -2))
        return "(%s // (%d))" % (a, d), "(%s // (%d))" % (pa, d), ma + 1, sa, ["(", oa, " // (%d))" % d]
    if k == 13:
        return "(%s // %s)" % (a, b), "(%s // %s)" % (pa, pb), ma + 1, s, ["(", oa, " // ", ob, ")"]
    if k == 14:
        d = r.choice((2, 3, 8))
        return "ceildiv(%s, %d)" % (a, d), "ceildiv(%s, %d)" % (pa, d), ma + 1, False, ["ceildiv(", oa, ", %d)" % d]
    if k == 15:
        d = r.choice((2, 3, 4, 8))
        return "(%s %% %d)" % (a, d), "(%s %% %d)" % (pa, d), d, sa, ["(", oa, " %% %d)" % d]
    if k == 16:
        name = r.choice(("min", "max"))
        text, python = "%s(%s, %s)" % (name, a, b), "%s(%s, %s)" % (name, pa, pb)
        return text, python, max(ma, mb), s, other(r, name, oa, ob)
    if k == 17:
        op = r.choice(("<", "<=", "==", "!=", ">", ">="))
        turned = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(op, op)
        order = ["(", ob, " %s " % turned, oa, ")"] if r.random() < 0.5 else ["(", oa, " %s " % op, ob, ")"]
        return "(%s %s %s)" % (a, op, b), "int(%s %s %s)" % (pa, op, pb), 1, False, order
    if k == 18:
        op = r.choice(("and", "or"))
        text, python = "(%s %s %s)" % (a, op, b), "int(bool(%s) %s bool(%s))" % (pa, op, pb)
        return text, python, 1, False, other(r, op + " ", oa, ob)
    if k == 19:
        c, pc, _, _, oc = draw(r, depth - 1)
        text, python = "select(%s, %s, %s)" % (c, a, b), "(%s if %s else %s)" % (pa, pc, pb)
        return text, python, max(ma, mb), False, ["select(", oc, ", ", oa, ", ", ob, ")"]
    if k == 20 and numpy is not None and r.random() < 0.5:
        c, pc, mc, _, oc = draw(r, depth - 1)
        text, python = "f32ratio(%s, %s, %s)" % (a, b, c), "f32ratio(%s, %s, %s)" % (pa, pb, pc)
        return text, python, 2 * ma * mb + 1, False, ["f32ratio(", oa, ", ", ob, ", ", oc, ")"]
    if k == 20 and numpy is not None:
        c = r.choice(("0.5", "2.0", "1.5", "0.75"))
        text, python = "f32scale(%s, %s)" % (a, c), "f32scale(%s, %s)" % (pa, c)
        return text, python, 2 * ma + 1, False, ["f32scale(", oa, ", %s)" % c]
    return "bcast(%s, %s)" % (a, b), "bcast(%s, %s)" % (pa, pb), max(ma, mb), False, other(r, "bcast", oa, ob)


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
        text, py, size, able, order = draw(r, r.choice((2, 3, 3, 4)))
        if size >= LIMIT or len(text) > 20000:
            continue
        env = {n: r.choice((0, 1, 2, r.randrange(100), r.randrange(1000))) for n in "xyzw"}
        rows.append((text, py, env, able, regroup(r, order)))
    return rows


def check(rows, r, counts):
    asked = "".join("%d %d %d %d\t%s\t%s\n" % (*(env[n] for n in "xyzw"), text, order) for text, _, env, _, order in rows)
    answers = subprocess.run([LINES], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(rows)
    for (text, py, env, able, order), line in zip(rows, answers):
        canonical, value, same, ordered = line.split("\t")
        want = python_value(py, env)
        assert same == "1", "%s: %s does not parse back" % (text, canonical)
        assert ordered == "1", "%s and %s: not the same node" % (text, order)
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
