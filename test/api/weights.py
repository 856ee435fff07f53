"""Where weights are: in the program's file or in the model's, mapped or copied. Files that are not what the program was
made with are refused by path; processes share the pages of what is mapped."""
# needs: numpy onnx
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tenon

TENON = os.environ["TENON"]
N = 1 << 19
WEIGHT = np.arange(N, dtype="f4")
SHOWN = {"x": np.ones(N, "f4")}


def make(folder):
    """y = x + w + small; w in w.bin."""
    nodes = [helper.make_node("Add", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "small"], ["y"])]
    port = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"])
    graph = helper.make_graph(nodes, "g", [port("x")], [port("y")],
                              [numpy_helper.from_array(WEIGHT, "w"), numpy_helper.from_array(np.float32([0.5]), "small")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = os.path.join(folder, "model.onnx")
    onnx.save_model(model, path, save_as_external_data=True, location="w.bin", size_threshold=1024)
    return path


def run(program):
    return program.session(threads=1).run(SHOWN)["y"]


def refused(status, text, function, *arguments):
    try:
        function(*arguments)
    except tenon.Error as error:
        assert error.status == status and text in str(error), (error.status, error)
        return
    raise AssertionError("not refused: %s" % text)


def places(folder, model):
    want = 1 + WEIGHT + np.float32(0.5)
    paths = {weights: os.path.join(folder, weights + ".tnp") for weights in ("embed", "reference")}
    for weights, path in paths.items():
        out = subprocess.run([TENON, "compile", model, "-o", path, "--weights", weights], check=True, capture_output=True)
        assert b": %d bytes" % os.path.getsize(path) in out.stdout
        tenon.compile(model).save(path + "2", weights)
        assert open(path, "rb").read() == open(path + "2", "rb").read()
    assert os.path.getsize(paths["embed"]) > 4 * N > 100 * os.path.getsize(paths["reference"])
    for path in [model, *paths.values()]:
        for knobs in ([], ["copy_weights=true"]):
            assert np.array_equal(run(tenon.compile(path, knobs=knobs)), want), (path, knobs)
    again = os.path.join(folder, "again.tnp")
    for weights, path in paths.items():  # what was loaded is saved as it was made
        tenon.compile(paths["reference"]).save(again, weights)
        assert open(again, "rb").read() == open(path, "rb").read(), weights
    for how in ("map", "copy"):
        out = subprocess.run([TENON, "run", paths["reference"], "--input", "x=zeros", "--weights", how], check=True,
                             capture_output=True, text=True).stdout
        assert re.search(r"min 0\.5 .*max 524288", out), out
    return paths


def moved(folder, paths):
    """A program and its weights go together to another folder."""
    there = os.path.join(folder, "there")
    os.mkdir(there)
    data = os.path.join(there, "w.bin")
    program = shutil.copy(paths["reference"], there)
    refused("IO", "weights: cannot open 'w.bin'", tenon.compile, program)
    with open(data, "wb") as file:
        file.write(WEIGHT.tobytes()[:1000])
    refused("INVALID", "weights 'w.bin': the file has 1000 bytes; the program uses %d at 0" % (4 * N), tenon.compile, program)
    other = WEIGHT.copy()
    other[N // 2] += 1
    other.tofile(data)
    refused("INVALID", "weights 'w.bin': the file has changed since the program was made", tenon.compile, program)
    os.unlink(data)
    os.symlink("../w.bin", data)
    refused("INVALID", "'w.bin' leads out of the model's folder", tenon.compile, program)
    os.unlink(data)
    shutil.copy(os.path.join(folder, "w.bin"), data)
    tenon.compile(program)
    refused("INVALID", "'%s/w.bin' are not in the folder '%s'" % (os.path.realpath(folder), there),
            tenon.compile(os.path.join(folder, "model.onnx")).save, os.path.join(there, "x.tnp"), "reference")
    inside = tenon.compile(program)
    inside.save(os.path.join(folder, "above.tnp"), "reference")  # the weights are further down
    assert np.array_equal(run(tenon.compile(os.path.join(folder, "above.tnp"))), 1 + WEIGHT + np.float32(0.5))


HOLDER = """
import sys
import numpy as np
import tenon
program = tenon.compile(sys.argv[1], knobs=sys.argv[2:])
sessions = [program.session(threads=1) for _ in range(2)]
for s in sessions:
    s.run({"x": np.ones(%d, "f4")})
print("ready", flush=True)
sys.stdin.readline()
""" % N


def pages(pid, path):
    """Sums of the mappings of a file in a process, in bytes."""
    sums, inside = {}, False
    for line in open("/proc/%d/smaps" % pid):
        if re.match(r"[0-9a-f]+-[0-9a-f]+ ", line):
            inside = line.rstrip().endswith(" " + os.path.realpath(path))
        elif inside and line.endswith(" kB\n"):
            name, number = line.split()[:2]
            sums[name] = sums.get(name, 0) + 1024 * int(number)
    return sums


def shared(paths, folder):
    for path, data in ((paths["embed"], paths["embed"]), (paths["reference"], os.path.join(folder, "w.bin"))):
        for knobs in ([], ["copy_weights=true"]):
            holders = [subprocess.Popen([sys.executable, "-c", HOLDER, path, *knobs], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True) for _ in range(2)]
            try:
                for holder in holders:
                    assert holder.stdout.readline() == "ready\n"
                maps = [pages(holder.pid, data) for holder in holders]
            finally:
                for holder in holders:
                    holder.communicate("\n")
            if knobs:
                assert all(not m for m in maps), maps
                continue
            for m in maps:
                assert m["Anonymous:"] == 0 and m["Private_Clean:"] + m["Private_Dirty:"] == 0, m
                assert m["Shared_Clean:"] + m["Shared_Dirty:"] >= 4 * N and m["Pss:"] <= 0.6 * m["Rss:"], m
    print("mapped: two processes with two sessions each share the pages; copied: no mapping is left")


with tempfile.TemporaryDirectory() as folder:
    model = make(folder)
    paths = places(folder, model)
    moved(folder, paths)
    if os.path.exists("/proc/self/smaps"):
        shared(paths, folder)
