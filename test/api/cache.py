"""The cache of programs: what was compiled is not compiled again, whatever is damaged is made anew, and nothing about it
makes a compilation fail."""
# needs: numpy onnx
import json
import os
import shutil
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import tenon

TENON = os.environ["TENON"]
N = 1000


def make(folder, shift=0):
    """y = x*w + small with w in w.bin; -1 as a dim is warned of."""
    nodes = [helper.make_node("Mul", ["x", "w"], ["a"]), helper.make_node("Add", ["a", "small"], ["y"])]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["B", N])
    x.type.tensor_type.shape.dim[0].dim_value = -1
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["B", N])
    weight = np.arange(N, dtype="f4") + np.float32(shift)
    graph = helper.make_graph(nodes, "g", [x], [y], [numpy_helper.from_array(weight, "w"),
                                                     numpy_helper.from_array(np.float32([0.5]), "small")])
    path = os.path.join(folder, "model.onnx")
    onnx.save_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path,
                    save_as_external_data=True, location="w.bin", size_threshold=1024)
    return path


def start(model, cache, *options, cwd=None):
    return subprocess.Popen([TENON, "run", model, "--json", "--input", "x=random:2x%d" % N, *options], cwd=cwd, text=True,
                            env={**os.environ, "TENON_CACHE": cache}, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finish(process):
    out, err = process.communicate()
    assert process.returncode == 0, err
    told = json.loads(out)
    return told["compiles"], told["outputs"], err


def run(model, cache, *options, cwd=None):
    return finish(start(model, cache, *options, cwd=cwd))


def entries(cache):
    names = set(os.listdir(cache))
    assert "secret" in names and not any(name.endswith(".tmp") for name in names), names
    return sorted(names - {"secret"})


def hits(folder, model, cache):
    compiles, want, warned = run(model, cache)
    assert compiles == 1 and "dim 0 is negative" in warned, warned
    assert os.stat(cache).st_mode & 0o777 == 0o700 and len(entries(cache)) == 1
    entry = os.path.join(cache, entries(cache)[0])
    made = os.stat(entry)
    assert run(model, cache) == (0, want, warned)
    assert run(model, cache, "--weights=copy")[1] == want
    assert run(model, os.path.relpath(cache, folder), cwd=folder) == (0, want, warned)
    other = os.path.join(folder, "other")
    os.mkdir(other)
    shutil.copy(os.path.join(folder, "w.bin"), other)
    renamed = shutil.copy(model, os.path.join(other, "renamed.onnx"))
    assert run(renamed, cache)[:2] == (0, want), "the path is not the content"
    x = np.ones((3, N), "f4")
    plain, cached = tenon.compile(model), tenon.compile(model, knobs=["cache=" + cache])
    assert plain.warnings == cached.warnings
    assert np.array_equal(plain.session().run({"x": x})["y"], cached.session().run({"x": x})["y"])
    for weights in ("embed", "reference"):
        for program, name in ((plain, "plain.tnp"), (cached, "cached.tnp")):
            program.save(os.path.join(folder, name), weights)
        files = [open(os.path.join(folder, name), "rb").read() for name in ("plain.tnp", "cached.tnp")]
        assert files[0] == files[1], "saved, it is the same program"
    out = subprocess.run([TENON, "compile", model, "-o", os.path.join(folder, "cached.tnp"), "--knob", "cache=" + cache],
                         check=True, capture_output=True, text=True).stdout
    assert out.endswith("bytes; nothing was compiled\n"), out
    now = os.stat(entry)
    assert now.st_ino == made.st_ino and now.st_mtime_ns >= made.st_mtime_ns, "used, not written again"
    print("hits: processes, paths, the library; warnings and programs as compiled")


def misses(folder, model, cache):
    first = entries(cache)
    for options in (["--knob", "skip=fold"], ["--input-shape", "x:-1,%d" % N],
                    ["--input-shape", "x:-1,%d" % N, "--dynamic-batch-size", "2,4"]):
        before = entries(cache)
        assert run(model, cache, *options)[0] == 1 and len(entries(cache)) == len(before) + 1, options
        assert run(model, cache, *options)[0] == 0
    want = run(model, cache)
    data = os.path.join(folder, "w.bin")
    kept = open(data, "rb").read()
    changed = np.frombuffer(kept, "f4").copy()
    changed[-1] += 1
    changed.tofile(data)
    before = entries(cache)
    compiles, other, _ = run(model, cache)
    assert compiles == 1 and other != want[1] and len(entries(cache)) == len(before) + 1
    open(data, "wb").write(kept)
    assert run(model, cache) == want and set(first) < set(entries(cache))
    os.rename(data, data + "2")
    errors = [subprocess.run([TENON, "run", model, "--knob", "cache=" + c], capture_output=True, text=True)
              for c in (cache, "")]
    assert errors[0].returncode == errors[1].returncode != 0 and errors[0].stderr == errors[1].stderr, errors
    os.rename(data + "2", data)
    print("misses: knobs, shapes, gears, one number of external data")


def damage(model, folder):
    cache = os.path.join(folder, "damaged")
    _, want, warned = run(model, cache)
    entry = os.path.join(cache, entries(cache)[0])
    good = open(entry, "rb").read()
    places = {0, 7, 8, 15, 16, 47, 48, 55, 56, 63, 64, 72, 88, 120, 400, 600, len(good) // 2, len(good) - 200, len(good) - 1}
    contents = [good[:at] + bytes([good[at] ^ 16]) + good[at + 1:] for at in sorted(places)]
    contents += [b"", good[:10], good[:64], good[:len(good) // 2], good[:-1], good + b"\0", b"TENONPRG" + good[8:]]
    for content in contents:
        with open(entry, "wb") as file:
            file.write(content)
        compiles, outputs, told = run(model, cache)
        assert compiles == 1 and outputs == want, len(content)
        assert told.count("of the cache is damaged: it is made anew") == 1 and told.endswith(warned), told
        assert open(entry, "rb").read() == good and run(model, cache) == (0, want, warned)
    other = os.path.join(cache, "0" * 64)
    os.rename(entry, other)  # an entry under another name is none
    assert run(model, cache)[0] == 1
    os.replace(entry, other)
    os.mkdir(entry)
    compiles, outputs, told = run(model, cache)
    assert compiles == 1 and outputs == want and "the program was not put into the cache" in told, told
    os.rmdir(entry)
    os.symlink("/dev/zero", entry)
    assert run(model, cache)[:2] == (1, want)
    print("%d damaged entries made anew" % len(contents))


def at_once(model, folder):
    cache = os.path.join(folder, "crowd")
    results = [finish(p) for p in [start(model, cache) for _ in range(8)]]
    assert all(r[1:] == results[0][1:] for r in results) and sum(r[0] for r in results) >= 1
    assert len(entries(cache)) == 1 and run(model, cache)[0] == 0
    print("8 processes at once: %d compiled, one entry" % sum(r[0] for r in results))


def coded(folder, number):
    """A model whose program holds 1.2 MB: numbers that the file has as varints."""
    values = helper.make_tensor("v", TensorProto.INT32, [300000], [number] * 300000)
    ports = [[helper.make_tensor_value_info(name, TensorProto.INT32, ["B", 300000])] for name in ("x", "y")]
    path = os.path.join(folder, "coded%d.onnx" % number)
    onnx.save(helper.make_model(helper.make_graph([helper.make_node("Add", ["x", "v"], ["y"])], "g", *ports, [values]),
                                opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def bounded(folder):
    cache = os.path.join(folder, "bounded")
    kept = {}

    def compiles(number, mib="3"):
        before = set(entries(cache)) if os.path.exists(cache) else set()
        out = subprocess.run([TENON, "run", coded(folder, number), "--json", "--input", "x=random:1x300000"], text=True,
                             env={**os.environ, "TENON_CACHE": cache, "TENON_CACHE_MAX_MIB": mib}, stdout=subprocess.PIPE, check=True)
        for name in set(entries(cache)) - before:
            kept[name] = number
        return json.loads(out.stdout)["compiles"]

    numbers = lambda: sorted(kept[name] for name in entries(cache))
    assert [compiles(1), compiles(2), compiles(1)] == [1, 1, 0] and numbers() == [1, 2]
    assert compiles(3, "0") == 1 and numbers() == [1, 2, 3], "no bound"
    others = [os.path.join(cache, name) for name in ("0" * 64 + ".1-0.tmp", "0" * 64 + ".2-0.tmp", "other", "0" * 63)]
    for path in others:
        open(path, "wb").write(bytes(4 << 20))
    for path in others[1:]:
        os.utime(path, (0, 0))
    assert subprocess.run([TENON, "run", coded(folder, 4), "--knob", "cache=" + cache, "--knob", "cache_max_mib=3", "--input",
                           "x=random:1x300000"], stdout=subprocess.DEVNULL).returncode == 0
    assert [os.path.exists(path) for path in others] == [True, False, True, True], "what a writer lost an hour ago goes, no other file"
    for path in (others[0], *others[2:]):
        os.remove(path)
    assert len(entries(cache)) == 2
    assert [compiles(3), compiles(4)] == [0, 0]
    assert compiles(5, "1") == 1 and numbers() == [5], "the newest stays"
    print("entries go, those used longest ago first")


def unusable(model, folder):
    want = run(model, "")
    assert want[0] == 1
    path = lambda name: os.path.join(folder, name)
    open(path("file"), "w").close()
    os.symlink("loop", path("loop"))
    os.mkdir(path("open"))
    os.chmod(path("open"), 0o777)
    os.mkdir(path("short"))
    open(path("short/secret"), "w").write("abc")
    rows = [(path("file"), "Not a directory"), (path("file/below"), "Not a directory"), (path("no/such"), "No such file"),
            (path("loop"), "cannot"), (path("open"), "everyone may write in the folder"), ("/proc", "cannot"),
            (path("short"), "is damaged: remove it"), ("x" * 5000, "File name too long")]
    if os.geteuid() == 0:
        os.mkdir(path("foreign"))
        os.chown(path("foreign"), 12345, -1)
        rows.append((path("foreign"), "belongs to another user"))
    else:
        os.mkdir(path("closed"), 0o500)
        rows.append((path("closed"), "Permission denied"))
    for cache, text in rows:
        compiles, outputs, told = run(model, cache)
        assert (compiles, outputs) == want[:2], cache
        first = [line for line in told.splitlines() if "the cache is not used: " in line]
        assert len(first) == 1 and first[0].startswith("tenon: warning: ") and text in first[0], (cache, told)
    print("%d folders that cannot be used: a warning each" % len(rows))


with tempfile.TemporaryDirectory() as folder:
    model = make(folder)
    cache = os.path.join(folder, "cache")
    hits(folder, model, cache)
    misses(folder, model, cache)
    damage(model, folder)
    at_once(model, folder)
    bounded(folder)
    unusable(model, folder)
