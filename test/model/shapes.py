"""Every fragment with known shapes: `tenon infer --json` gives formulas that are right at every binding of the case, and
no dim is left to the run that the sizes of the inputs decide. The fragments are in $TENON_SHARED/cases/shapes (by default
beside the source folder); without them the test is skipped."""
# needs: numpy
import json
import os
import subprocess
import sys

import numpy as np

TENON = os.environ["TENON"]
SHARED = os.environ.get("TENON_SHARED", os.path.join(os.environ["TENON_SOURCE"], "..", "shared"))
FOLDER = os.path.join(SHARED, "cases", "shapes")


class Free(Exception):
    """The formula speaks of a symbol that no input gives."""


def bcast(*sizes):
    return next((s for s in sizes if s != 1), 1)


FUNCTIONS = {"__builtins__": {}, "min": min, "max": max, "bcast": bcast,
             "ceildiv": lambda a, b: -(-a // b), "select": lambda c, a, b: a if c else b,
             "f32scale": lambda a, c: int(np.floor(np.float32(a) * np.float32(c)))}


def value(dim, env):
    if isinstance(dim, int):
        return dim
    for name in sorted(env, key=len, reverse=True):
        dim = dim.replace('"%s"' % name, "(%d)" % env[name])
    try:
        return int(eval(dim, FUNCTIONS, dict(env)))
    except NameError:
        raise Free from None


def faults(case):
    path = os.path.join(FOLDER, "onnx", case["name"] + ".onnx")
    r = subprocess.run([TENON, "infer", path, "--json"], capture_output=True, text=True, timeout=60)
    if r.returncode != 0:
        yield "exit status %d: %s" % (r.returncode, r.stderr.strip())
        return
    values = json.loads(r.stdout)["values"]
    for run in case["runs"]:
        for name, want in (run["shapes"] or {}).items():
            expected = case["expect"].get(name, want)
            have = values.get(name, {}).get("shape")
            if have is None:
                if expected is not None:
                    yield "%s has no rank" % name
                continue
            if len(have) != len(want):
                yield "%s has rank %d, not %d" % (name, len(have), len(want))
                continue
            for axis, (dim, real, known) in enumerate(zip(have, want, expected or want)):
                try:
                    if value(dim, run["bind"]) != real:
                        yield "%s[%d] = %s is wrong at %s: %s" % (name, axis, dim, run["bind"], real)
                except Free:
                    if not str(known).startswith("?"):
                        yield "%s[%d] = %s, expected %s" % (name, axis, dim, known)


def main():
    if not os.path.isdir(FOLDER):
        print("skipped: no fragments at %s" % FOLDER)
        return 77
    with open(os.path.join(FOLDER, "cases.json")) as f:
        cases = json.load(f)
    failed = 0
    for case in cases:
        for fault in faults(case):
            failed += 1
            print("%s: %s" % (case["name"], fault))
    print("%d fragments, %d faults" % (len(cases), failed))
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
