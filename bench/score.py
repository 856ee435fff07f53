#!/usr/bin/env python3
"""Shape inference of small models, side by side: Tenon and those of the others that can be imported, which are
onnx.shape_inference (with data propagation), onnxruntime.tools.symbolic_shape_infer, onnx_shape_inference and onnxslim.

    bench/score.py TENON [FOLDER] [-v]    without FOLDER: the fragments that bench/fragments.py makes

For each it counts, worst verdict of a fragment first:
    CRASH    it ends with an exception or a signal, or takes more than 20 s
    UNSOUND  some dim or rank that it states is wrong at some of the sizes
    NORANK   it does not know a rank
    PARTIAL  it does not know some dim that the inputs decide
    EXACT    all is right at all sizes
-v names each fragment that is not EXACT. Every fragment runs in a process of its own."""
# needs: numpy onnx
import importlib
import os
import signal
import sys
import tempfile

import onnx

import _fragments

SECONDS = 20


def with_onnx(path):
    model = onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True, strict_mode=False)
    return _fragments.model_shapes(model)


def with_script(path):
    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    return _fragments.model_shapes(SymbolicShapeInference.infer_shapes(onnx.load(path), auto_merge=True))


def with_onnx_shape_inference(path):
    from onnx_shape_inference import infer_symbolic_shapes
    import onnx_ir

    model = onnx_ir.load(path)
    return _fragments.model_shapes(onnx_ir.to_proto(infer_symbolic_shapes(model) or model))


def with_onnxslim(path):
    from onnxslim.third_party.symbolic_shape_infer import SymbolicShapeInference

    return _fragments.model_shapes(SymbolicShapeInference.infer_shapes(onnx.load(path), auto_merge=True))


OTHERS = (("onnx", "onnx", with_onnx), ("ORT script", "onnxruntime.tools.symbolic_shape_infer", with_script),
          ("onnx-shape-inference", "onnx_shape_inference", with_onnx_shape_inference),
          ("onnxslim", "onnxslim.third_party.symbolic_shape_infer", with_onnxslim))


def importable(module):
    try:
        importlib.import_module(module)
        return True
    except Exception:  # a package that cannot be imported, for whatever reason of its own, takes no part
        return False


def judged(infer, case, path):
    """The verdict, found in a child process: what it runs may crash."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(SECONDS)
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        try:
            verdict, why = _fragments.worst(_fragments.faults(case, infer(path)))
        except BaseException as error:  # whatever the tool raises is its verdict
            verdict, why = "CRASH", repr(error)
        os.write(writing, ("%s %s" % (verdict, why)).encode()[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    status = os.waitpid(child, 0)[1]
    verdict, _, why = (said or "CRASH ended with status %d" % status).partition(" ")
    return verdict, why


def score(name, infer, folder, cases, verbose):
    counts = dict.fromkeys(_fragments.VERDICTS, 0)
    for case in cases:
        verdict, why = judged(infer, case, _fragments.path_of(folder, case))
        counts[verdict] += 1
        if verbose and verdict != "EXACT":
            print("%s: %s %s: %s" % (name, verdict, case["name"], why.splitlines()[0][:160] if why else ""))
    return counts


def main():
    words = [word for word in sys.argv[1:] if word != "-v"]
    verbose = "-v" in sys.argv
    if not words or len(words) > 2:
        sys.exit(__doc__)
    made = None if len(words) == 2 else tempfile.TemporaryDirectory()
    if made:
        import fragments

        fragments.write(made.name)
    folder = words[1] if len(words) == 2 else made.name
    cases = _fragments.load(folder)
    sides = [("tenon", lambda path: _fragments.tenon_shapes(words[0], path))]
    sides += [(name, infer) for name, module, infer in OTHERS if importable(module)]
    rows = [(name, score(name, infer, folder, cases, verbose)) for name, infer in sides]
    print("%-22s" % ("%d fragments" % len(cases)) + "".join("%9s" % verdict for verdict in _fragments.VERDICTS))
    for name, counts in rows:
        print("%-22s" % name + "".join("%9d" % counts[verdict] for verdict in _fragments.VERDICTS))
    return 0 if rows[0][1]["EXACT"] == len(cases) else 1


if __name__ == "__main__":
    sys.exit(main())
