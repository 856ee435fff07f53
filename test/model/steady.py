"""Runs at a bound shape make no system calls but those that wake threads; results do not depend on the number of threads,
bit for bit; equal models compile to the same bytes in every process, whatever their path."""
# needs: numpy onnx wheels
import os
import re
import shutil
import subprocess
import sys
import tempfile

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


def calls(program, repeat, folder):
    """System calls of `tenon run`, by name."""
    table = os.path.join(folder, "calls")
    traced = subprocess.run(["strace", "-f", "-c", "-o", table, TENON, "run", program, "--input", "x=random:1x3x64x96", "--threads", "2",
                             "--repeat", str(repeat)], capture_output=True, text=True)
    if traced.returncode != 0:
        return None
    rows = re.findall(r"^ *[\d.]+ +[\d.]+ +\d+ +(\d+) +(?:\d+ +)?(\w+)$", open(table).read(), re.M)
    return {name: int(n) for n, name in rows if name != "total"}


def no_system_calls(program, folder):
    few = calls(program, 3, folder) if shutil.which("strace") and not os.environ.get("TENON_SANITIZE") else None
    if few is None:
        print("skipped: no_system_calls: strace is missing or not permitted")
        return
    many = calls(program, 53, folder)
    more = {name: n - few.get(name, 0) for name, n in many.items() if n > few.get(name, 0)}
    more.pop("futex", None)
    more.pop("restart_syscall", None)
    assert sum(few.values()) > 20, few  # strace saw something
    assert not more, more
    print("50 more runs, no more system calls than %d" % sum(few.values()))


def same_by_threads():
    image = lambda *shape: {"x": np.random.default_rng(1).uniform(-1, 1, shape).astype("f4")}
    models = [(wheel("ch_PP-OCRv4_det_infer.onnx"), [image(1, 3, 128, 96), image(2, 3, 64, 64)]),
              (wheel("ch_PP-OCRv4_rec_infer.onnx"), [image(1, 3, 48, 160), image(3, 3, 48, 64)]),
              (os.path.join(LIGHT, "light_shufflenet.onnx"), None)]
    for path, shapes in models:
        program = tenon.compile(path)
        if shapes is None:
            shapes = [{program.inputs[0][0]: np.random.default_rng(1).uniform(0, 1, (1, 3, 224, 224)).astype("f4")}]
        sessions = [program.session(threads=n) for n in (1, 2, 3, 8)]
        for inputs in shapes:
            results = [s.run(inputs) for s in sessions]
            for other in results[1:]:
                for name, want in results[0].items():
                    assert other[name].tobytes() == want.tobytes(), (path, name)
    print("1, 2, 3 and 8 threads: the same bits")


def same_by_process(folder):
    paths = [wheel("ch_PP-OCRv4_det_infer.onnx"), wheel("silero_vad.onnx"), os.path.join(LIGHT, "light_densenet121.onnx")]
    for path in paths:
        programs = []
        copy = shutil.copy(path, os.path.join(folder, "copy.onnx"))
        fixed = ["setarch", "-R"] if shutil.which("setarch") else []  # addresses that are the same in every process
        ways = [([], path, None, {}),
                ([], path, folder, {"TENON_THREADS": "1", "MALLOC_PERTURB_": "85", "LC_ALL": "C"}),
                (fixed, "copy.onnx", folder, {"TENON_THREADS": "2"}),
                (fixed, copy, "/", {"TENON_THREADS": "8", "MALLOC_PERTURB_": "170"})]
        for i, (before, model, cwd, extra) in enumerate(ways):
            out = os.path.join(folder, "%d.tnp" % i)
            subprocess.run([*before, TENON, "compile", model, "-o", out], check=True, cwd=cwd, env={**os.environ, **extra},
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            programs.append(open(out, "rb").read())
        assert all(p == programs[0] for p in programs), path
    print("four processes (threads, folders, names, addresses): the same program files")


with tempfile.TemporaryDirectory() as folder:
    program = os.path.join(folder, "det.tnp")
    tenon.compile(wheel("ch_PP-OCRv4_det_infer.onnx")).save(program)
    no_system_calls(program, folder)
    same_by_threads()
    same_by_process(folder)
