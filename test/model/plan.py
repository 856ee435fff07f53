"""The memory plan of real models at several shapes: at most 1.05 times the bytes that are live at once, what `tenon dump
--plan` and `tenon cost` say is what a session takes, the formula holds, and writing results over operands, or where a
Concat has them, changes no bit of any output."""
# needs: numpy onnx wheels
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import numpy as np
import onnx

import tenon

TENON, WHEELS = os.environ["TENON"], os.environ["TENON_WHEELS"]
LIGHT = os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light")


def wheel(name):
    for folder, _, files in os.walk(WHEELS):
        if name in files:
            return os.path.join(folder, name)
    print("skipped: %s is not in %s" % (name, WHEELS))
    sys.exit(77)


def image(*shapes):
    return [{"x": np.random.default_rng(0).uniform(-1, 1, s).astype("f4")} for s in shapes]


ONE_IMAGE = "p2o.DynamicDimension.0 == 1"  # then the four feature maps of detection are made where its Concat has them


def models():
    yield wheel("ch_PP-OCRv4_det_infer.onnx"), image((1, 3, 64, 96), (1, 3, 320, 224), (2, 3, 64, 64), (1, 3, 32, 32))
    yield wheel("ch_PP-OCRv4_det_infer.onnx"), image((1, 3, 64, 96), (1, 3, 320, 224)), ONE_IMAGE
    yield wheel("ch_PP-OCRv4_rec_infer.onnx"), image((1, 3, 48, 100), (3, 3, 48, 33), (1, 3, 48, 320))
    yield wheel("ch_ppocr_mobile_v2.0_cls_infer.onnx"), image((1, 3, 48, 192), (5, 3, 48, 64), (1, 3, 33, 18))
    yield wheel("silero_vad.onnx"), [
        {"input": np.zeros((b, n), "f4"), "state": np.zeros((2, b, 128), "f4"), "sr": np.array(16000)}
        for b, n in ((1, 576), (4, 576), (9, 576))]
    for path in sorted(glob.glob(os.path.join(LIGHT, "light_*.onnx"))):
        if os.path.basename(path) in ("light_squeezenet.onnx", "light_shufflenet.onnx", "light_densenet121.onnx"):
            graph = onnx.load(path).graph
            given = {i.name for i in graph.initializer}
            yield path, [{i.name: np.ones([d.dim_value or 1 for d in i.type.tensor_type.shape.dim], "f4")
                          for i in graph.input if i.name not in given}]


def symbols(program, inputs):
    """Sizes of the symbols, read from the dims that are nothing else."""
    out = {}
    for key, type_text in program.inputs:
        dims = re.search(r"\[(.*)\]", type_text)
        for name, size in zip(dims.group(1).split(",") if dims and dims.group(1) else [], inputs[key].shape):
            if re.fullmatch(r"[A-Za-z_]\w*|\"[^\"]*\"", name):
                out[name.strip('"')] = size
    return out


def evaluate(formula, sizes):
    names = re.compile(r"[A-Za-z_]\w*|\"[^\"]*\"")
    return eval(names.sub(lambda m: m.group() if m.group() in ("max", "min") else str(sizes[m.group().strip('"')]), formula))


def command(*arguments):
    return subprocess.run([TENON, *arguments], capture_output=True, check=True, text=True).stdout


worst, joined = 1.0, {}
for path, shapes, *assume in models():
    name = os.path.basename(path)
    facts = {"assume": assume}
    program, plain = tenon.compile(path, **facts), tenon.compile(path, knobs=["in_place=0", "join_parts=0"], **facts)
    session, other = program.session(threads=2), plain.session(threads=1)
    for inputs in shapes:
        got, want = session.run(inputs), other.run(inputs)
        for key in want:
            assert got[key].tobytes() == want[key].tobytes(), (name, key)
        stats, sizes = session.stats(), symbols(program, inputs)
        dims = ["--dim", ",".join("%s=%d" % s for s in sizes.items())] if sizes else []
        dims += ["--assume", *assume] if assume else []
        text = command("dump", "--plan", path, *dims)
        joined[name, *assume] = int((re.findall(r"^made where a Concat has them: (\d+) values", text, re.M) or [0])[0])
        peak = int(re.search(r"^peak: .*?(\d+)$", text, re.M).group(1))
        bound = int(re.search(r"^bound .*?(\d+)$", text, re.M).group(1))
        assert peak == stats["arena_bytes"] and bound == stats["live_bytes"], (name, peak, bound, stats)
        cost = json.loads(command("cost", "--json", path, *dims))["planned_bytes"]
        assert cost["value"] == peak, (name, cost, peak)
        formula = evaluate(cost["formula"], sizes)
        assert formula == peak or formula > 1.05 * bound, (name, formula, peak)
        worst = max(worst, peak / bound)
        print("%-36s %-44s peak %9d bound %9d in place saves %.0f%%" % (
            name, sizes, peak, bound, 100 - 100 * peak / other.stats()["arena_bytes"]))
        assert peak <= 1.05 * bound, (name, sizes, peak, bound)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "plan.svg")
        command("dump", "--plan", "--plan-svg", file, path, *dims)
        rects = xml.etree.ElementTree.parse(file).getroot().findall("{http://www.w3.org/2000/svg}rect")
        assert len(rects) > 3 and all(float(r.get("y")) > -0.1 for r in rects)
print("made where a Concat has them:", joined)
assert joined["ch_PP-OCRv4_det_infer.onnx",] == 0 and joined["ch_PP-OCRv4_det_infer.onnx", ONE_IMAGE] == 4
assert joined["light_squeezenet.onnx",] == 16 and joined["light_densenet121.onnx",] == 114
print("largest peak / bound: %.4f" % worst)
