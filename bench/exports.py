#!/usr/bin/env python3
"""Models exported by torch, with small random weights, and pipelines of scikit-learn, through Tenon.

    bench/exports.py TENON [--python VENV/bin/python] [--only NAME,...] [--exporter dynamo,script] [--keep FOLDER]

For each model: `tenon infer` must know every value as integers or expressions over declared symbols and over
data-dependent ones with bounds; the outputs at three shapes must be those of ONNX Runtime; and, where the program has
it, `tenon infer --check` must pass. Each pipeline must give what ONNX Runtime and scikit-learn give, with outputs that
are tensors and that are maps (zipmap). Needs torch, transformers, onnxscript and onnxruntime: without --python they are
installed into build/exports-venv, at the versions below. The exported files stay in FOLDER and are used again."""
import argparse
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(HERE)
PACKAGES = ["torch==2.13.0", "transformers==5.24.0", "onnxscript==0.7.2", "onnx==1.23.2", "onnxruntime==1.32.0",
            "scikit-learn==1.9.1", "skl2onnx==1.20.0"]
TOLERANCE = 2e-5  # of the largest number of an output; float32 sums in another order


def environment():
    """The interpreter of a virtual environment that has the packages."""
    folder = os.path.join(SOURCE, "build", "exports-venv")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(os.path.join(folder, "complete")):
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "torch==2.13.0", "--index-url", "https://download.pytorch.org/whl/cpu"])
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
        open(os.path.join(folder, "complete"), "w").close()
    return python


def export(name, exporter, path, opset):
    """The model's file and what to run it with, made once."""
    import numpy as np
    data = path + ".npz"
    if not os.path.exists(data):
        import _models
        with contextlib.redirect_stdout(io.StringIO()):  # the exporters are talkative
            feeds = _models.export(name, exporter, path, opset)
        np.savez(data, **{"%d/%s" % (i, n): a for i, f in enumerate(feeds) for n, a in f.items()})
    feeds = {}
    for key, array in np.load(data).items():
        row, _, n = key.partition("/")
        feeds.setdefault(int(row), {})[n] = array
    return [feeds[i] for i in sorted(feeds)]


NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_.]*')
WORDS = {"min", "max", "ceildiv", "bcast", "f32scale", "f32ratio", "select", "and", "or", "not"}


def unresolved(program, path):
    """(number of values, names of those whose shape is not known): `tenon infer`."""
    answer = subprocess.run([program, "infer", "--json", path], capture_output=True, text=True)
    if answer.returncode:
        raise RuntimeError(answer.stderr.strip())
    facts = json.loads(answer.stdout)
    is_open = lambda s: s["max"] is None and "at_most" not in s and not re.match(r"dim \d+ of input '", s["from"] or "")
    open_symbols = {n for n, s in facts["symbols"].items() if is_open(s)}
    bad = []
    for name, value in facts["values"].items():
        shape = value.get("shape")
        if shape is None or any(n.strip('"') in open_symbols for d in shape if isinstance(d, str) for n in NAME.findall(d) if n not in WORDS):
            bad.append("%s: %s" % (name, shape))
    return len(facts["values"]), bad


def error(want, got):
    import numpy as np
    if want.shape != got.shape or want.dtype != got.dtype:
        raise RuntimeError("%s%s, expected %s%s" % (got.dtype, got.shape, want.dtype, want.shape))
    if want.dtype.kind != "f":
        return 0.0 if np.array_equal(want, got) else float("inf")
    if not np.isfinite(want).all():
        raise RuntimeError("the model gives numbers that are not finite")
    return float(np.abs(want - got).max(initial=0)) / max(1.0, float(np.abs(want).max(initial=0)))


def compare(path, feeds):
    """The largest difference from ONNX Runtime over all feeds, one compiled program for them all."""
    import onnxruntime
    import tenon
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    theirs = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = {i.name for i in theirs.get_inputs()}
    ours = tenon.compile(path).session(threads=1)
    worst = 0.0
    for row, feed in enumerate(feeds):
        feed = {n: a for n, a in feed.items() if n in names}  # what the model does not read, the exporter drops
        want = dict(zip([o.name for o in theirs.get_outputs()], theirs.run(None, feed)))
        got = ours.run(feed)
        for name in want:
            try:
                worst = max(worst, error(want[name], got[name]))
            except RuntimeError as e:
                raise RuntimeError("output '%s' of shape %d: %s" % (name, row, e))
    return worst


def checked(program, path):
    """`tenon infer --check` says of every value's shape whether it was the formula's."""
    answer = subprocess.run([program, "infer", "--check", path], capture_output=True, text=True)
    return "ok" if answer.returncode == 0 else "FAILS: " + (answer.stderr or answer.stdout).strip()[:300]


def row(options, name, exporter, has_check):
    path = os.path.join(options.keep, "%s-%s.onnx" % (name, exporter))
    problems = []
    try:
        feeds = export(name, exporter, path, options.opset)
    except Exception as e:
        why = str(e.__cause__ or e).strip().split("\n")[0]
        print("%-28s %-7s cannot be exported: %s" % (name, exporter, why[:150]))
        return None
    values, bad, worst, check = "-", [], None, "-"
    try:
        values, bad = unresolved(options.tenon, path)
        problems += bad[:3]
    except RuntimeError as e:
        problems.append("infer: %s" % e)
    try:
        worst = compare(path, feeds)
        if worst > TOLERANCE:
            problems.append("differs by %g" % worst)
    except Exception as e:
        problems.append("run: %s" % e)
    if has_check:
        check = checked(options.tenon, path)
        if check != "ok":
            problems.append(check)
            check = "FAILS"
    print("%-28s %-7s %6s %10d %10s %7s  %s" % (name, exporter, values, len(bad), "-" if worst is None else "%.1e" % worst, check,
                                              "ok" if not problems else "FAIL"))
    for p in problems:
        print("    " + p)
    sys.stdout.flush()
    return not problems


def flat(value):
    """Maps and sequences of them as a matrix, columns by key."""
    import numpy as np
    if isinstance(value, list):
        return np.array([[row[key] for key in sorted(row)] for row in value], dtype="f4")
    return value


def pipeline_error(got, want, said):
    """(difference from ONNX Runtime, from scikit-learn), of one run."""
    import numpy as np
    worst = [0.0, 0.0]
    for g, w, s in zip(map(flat, got), map(flat, want), said):
        if g.dtype.kind in "OUi":
            worst = [worst[i] if np.array_equal(g.ravel().astype(str), other.ravel().astype(str)) else float("inf")
                     for i, other in enumerate((w, s))]
            continue
        worst[0] = max(worst[0], error(w, g))
        if s.ndim == 1 and g.ndim == 2 and g.shape[1] == 2:
            g = g[:, 1]  # one score of two classes: scikit-learn gives the second's
        worst[1] = max(worst[1], error(s.astype("f4").reshape(g.shape), g))
    return worst


def any_locale(data):
    """The model with a locale that every machine has: ONNX Runtime asks the system for the words' own, en_US."""
    import onnx
    model = onnx.load_from_string(data)
    for node in model.graph.node:
        if node.op_type == "StringNormalizer" and not any(a.name == "locale" for a in node.attribute):
            node.attribute.append(onnx.helper.make_attribute("locale", "C.UTF-8"))
    return model.SerializeToString()


def pipeline(options, name, zipmap):
    import onnxruntime
    import tenon
    import _pipelines
    path = os.path.join(options.keep, "pipeline.onnx")
    worst, problem = [0.0, 0.0], ""
    data, cases = _pipelines.convert(name, zipmap)
    try:
        with open(path, "wb") as f:
            f.write(data)
        ours = tenon.compile(path).session(threads=1)
        theirs = onnxruntime.InferenceSession(any_locale(data), providers=["CPUExecutionProvider"])
        for feed, said in cases:
            found = pipeline_error(list(ours.run(feed).values()), theirs.run(None, feed), said)
            worst = [max(a, b) for a, b in zip(worst, found)]
    except (tenon.Error, RuntimeError) as e:
        problem = str(e)
    ok = not problem and max(worst) <= TOLERANCE
    print("%-28s %-7s %10.1e %12.1e  %s" % (name, "maps" if zipmap else "tensors", *worst, "ok" if ok else "FAIL " + problem))
    sys.stdout.flush()
    return ok


def pipelines(options, names):
    import _pipelines
    print("%-28s %-7s %10s %12s" % ("pipeline", "gives", "from ORT", "from sklearn"))
    done = [pipeline(options, name, zipmap) for name in names for zipmap in (False, True)
            if not zipmap or not re.search("votes|SVR|, regression", name)]  # those give no probabilities
    print("%d of %d pipelines equal ONNX Runtime and scikit-learn" % (sum(done), len(done)))
    return all(done)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tenon", help="the program; libtenon.so stands beside it")
    parser.add_argument("--python", help="an interpreter that has the packages")
    parser.add_argument("--only", default="", help="models or pipelines to take; `pipelines`: all of those")
    parser.add_argument("--exporter", default="dynamo,script")
    parser.add_argument("--opset", type=int, default=20)
    parser.add_argument("--keep", help="folder of the exported files")
    options = parser.parse_args()
    if "TENON_EXPORTS" not in os.environ:
        os.environ["TENON_EXPORTS"] = "1"
        os.environ.setdefault("TENON_LIB", os.path.join(os.path.dirname(os.path.abspath(options.tenon)), "libtenon.so"))
        os.environ["PYTHONPATH"] = os.pathsep.join([os.path.join(SOURCE, "python"), HERE])
        os.environ["HF_HUB_OFFLINE"] = "1"
        python = options.python or environment()
        os.execv(python, [python, os.path.abspath(__file__), *sys.argv[1:]])
    scratch = None if options.keep else tempfile.TemporaryDirectory()
    options.keep = options.keep or scratch.name
    os.makedirs(options.keep, exist_ok=True)
    has_check = "--check" in subprocess.run([options.tenon, "infer", "--help"], capture_output=True, text=True).stdout
    import logging
    import warnings
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    import _models
    import _pipelines
    wanted = [w for w in options.only.split(",") if w]
    chosen = [n for n in _pipelines.PIPELINES if not wanted or n in wanted or "pipelines" in wanted]
    good = pipelines(options, chosen) if chosen else True
    names = [m.__name__ for m in _models.MODELS if not wanted or m.__name__ in wanted]
    if names:
        print("%-28s %-7s %6s %10s %10s %7s" % ("model", "by", "values", "unresolved", "from ORT", "check"))
    results = {}
    for name in names:
        for exporter in options.exporter.split(","):
            results[name, exporter] = row(options, name, exporter, has_check)
    if not results:
        sys.exit(0 if good else 1)
    done = [r for r in results.values() if r is not None]
    print("%d of %d models exported; %d resolved completely and equal ONNX Runtime at every shape" % (len(done), len(results), sum(done)))
    missing = [n for n in names if all(results[n, e] is None for e in options.exporter.split(","))]
    sys.exit(0 if good and all(done) and not missing else 1)


if __name__ == "__main__":
    main()
