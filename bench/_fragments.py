"""Shape fragments: small models with the real shapes of values at several sizes of the inputs, and a judge of what an
inference says of them. A folder holds onnx/NAME.onnx and cases.json, a list of

    {"name": NAME, "runs": [{"bind": {"N": 3}, "shapes": {"y": [3, 4]}}, ...],
     "expect": {"y": ["N", 4]}}        the right formulas; "?..." where data decides, null where the rank is no fixed one
"""
import json
import math
import os
import re
import subprocess
from fractions import Fraction

import numpy as np

VERDICTS = ("EXACT", "PARTIAL", "NORANK", "UNSOUND", "CRASH")  # ever worse


class Free(Exception):
    """The formula speaks of a symbol that no input gives."""


def bcast(*sizes):
    return next((s for s in sizes if s != 1), 1)


# What the text of Tenon's formulas and of SymPy's is made of.
FUNCTIONS = {"__builtins__": {}, "min": min, "max": max, "bcast": bcast, "ceildiv": lambda a, b: -(-a // b),
             "select": lambda c, a, b: a if c else b,
             "f32scale": lambda a, c: int(np.floor(np.float32(int(a)) * np.float32(c))),
             "f32ratio": lambda a, n, d: int(np.floor(np.float64(np.float32(n) / np.float32(d) * np.float32(a)) + 0.5)),
             "Min": min, "Max": max, "floor": math.floor, "ceiling": math.ceil, "Abs": abs, "Mod": lambda a, b: a % b}


def value(dim, bind):
    """A dim, an integer or a formula, at these sizes."""
    if isinstance(dim, int):
        return dim
    for name in sorted(bind, key=len, reverse=True):
        dim = dim.replace('"%s"' % name, "(%d)" % bind[name])
    try:
        return eval(dim, FUNCTIONS, {name: Fraction(size) for name, size in bind.items()})
    except (NameError, SyntaxError):
        raise Free from None


def faults(case, shapes):
    """What is wrong with `shapes` (name to list of dims, or None), as pairs of verdict and sentence."""
    for run in case["runs"]:
        for name, want in (run["shapes"] or {}).items():
            expected, have = case["expect"].get(name, want), shapes.get(name)
            if have is None:
                if expected is not None:
                    yield "NORANK", "%s has no rank" % name
                continue
            if len(have) != len(want):
                yield "UNSOUND", "%s has rank %d, not %d" % (name, len(have), len(want))
                continue
            for axis, (dim, real, known) in enumerate(zip(have, want, expected or want)):
                try:
                    if value(dim, run["bind"]) != real:
                        yield "UNSOUND", "%s[%d] = %s is wrong at %s: %s" % (name, axis, dim, run["bind"], real)
                except Free:
                    if not str(known).startswith("?"):
                        yield "PARTIAL", "%s[%d] = %s, expected %s" % (name, axis, dim, known)


def worst(found):
    return max(found, key=lambda fault: VERDICTS.index(fault[0]), default=("EXACT", ""))


def load(folder):
    with open(os.path.join(folder, "cases.json")) as file:
        return json.load(file)


def path_of(folder, case):
    return os.path.join(folder, "onnx", case["name"] + ".onnx")


def tenon_shapes(tenon, path):
    done = subprocess.run([tenon, "infer", path, "--json"], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise RuntimeError("exit status %d: %s" % (done.returncode, done.stderr.strip()))
    return {name: v["shape"] for name, v in json.loads(done.stdout)["values"].items()}


def model_shapes(model):
    """What a ModelProto declares of its values: a dim without value or name is a free one."""
    shapes = {}
    for info in list(model.graph.value_info) + list(model.graph.output) + list(model.graph.input):
        tensor = info.type.tensor_type
        if info.type.WhichOneof("value") != "tensor_type" or not tensor.HasField("shape"):
            continue
        shapes[info.name] = [d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim]
    for name, dims in shapes.items():
        shapes[name] = [re.sub(r"\s+", " ", d) if isinstance(d, str) else d for d in dims]
    return shapes
