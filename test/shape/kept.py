"""Shapes that a session has met are kept, as many as it is told to; the one met longest ago makes room. One program
serves many threads and is compiled once."""
# needs: numpy
import ctypes
import os
import tempfile
import threading

import numpy as np

import tenon
from tenon import _ffi

from _infer import graph

lib = tenon._lib


def compiled(folder):
    path = os.path.join(folder, "add.tn")
    with open(path, "w") as file:
        file.write(graph("x: f32[N]", "%a = relu(%x)\n%o = add(%a, %x)"))
    return tenon.compile(path)


def hits(program, sizes, kept):
    """How many of the runs at these sizes found their shape kept."""
    session = program.session(threads=1)
    lib.tn_session_release(session._handle)
    options = _ffi.SessionOptions(size=ctypes.sizeof(_ffi.SessionOptions), threads=1, kept_shapes=kept)
    tenon._call(lib.tn_session_create, program._handle, ctypes.byref(options), ctypes.byref(session._handle))
    for n in sizes:
        x = np.arange(n, dtype="f4") - 2
        assert np.array_equal(session.run({"x": x})["o"], np.maximum(x, 0) + x)
    return session.stats()["bind_hits"]


def threads(program, count):
    """The same size from many threads, a session each."""
    x, wrong = np.arange(1000, dtype="f4") - 500, []

    def work():
        session = program.session(threads=1)
        for _ in range(20):
            if not np.array_equal(session.run({"x": x})["o"], np.maximum(x, 0) + x):
                wrong.append(1)

    workers = [threading.Thread(target=work) for _ in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(wrong)


with tempfile.TemporaryDirectory() as folder:
    program = compiled(folder)
    ten = list(range(1, 11))
    assert hits(program, ten + ten, 10) == 10
    assert hits(program, ten + [11] + [1], 10) == 0  # 11 took the place of 1
    assert hits(program, ten + [1] + [11] + [1, 2], 10) == 2  # 1 was met again, so 11 took the place of 2
    assert threads(program, 10) == 0
print("shapes are kept")
