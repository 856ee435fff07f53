"""A session's memory bound, kept shapes, outputs in the caller's memory, cancelling, deadline, progress."""
# needs: numpy onnx
import ctypes
import os
import tempfile

import numpy as np
from onnx import TensorProto as T
from onnx import helper as h

import tenon
from tenon import _ffi

lib = tenon._lib


def save(nodes, inputs, outputs, folder):
    path = os.path.join(folder, "m.onnx")
    graph = h.make_graph(nodes, "g", inputs, outputs)
    open(path, "wb").write(h.make_model(graph, opset_imports=[h.make_opsetid("", 17)]).SerializeToString())
    return path


def refused(status, text, function, *arguments):
    try:
        tenon._call(function, *arguments)
    except tenon.Error as e:
        assert e.status == status and text in str(e), (e.status, str(e))
        return
    raise AssertionError("not refused: " + text)


def value(name, type_, dims):
    return h.make_tensor_value_info(name, type_, dims)


with tempfile.TemporaryDirectory() as folder:
    path = save([h.make_node("Relu", ["x"], ["a"]), h.make_node("Add", ["a", "x"], ["y"])],
                [value("x", T.FLOAT, ["N"])], [value("y", T.FLOAT, ["N"])], folder)
    program = tenon.compile(path)
    s = program.session(threads=1)
    for n in (4, 5, 4, 5, 6, 4):
        x = np.arange(n, dtype="f4") - 2
        assert np.array_equal(s.run({"x": x})["y"], np.maximum(x, 0) + x)
    assert s.stats()["binds"] == 6 and s.stats()["bind_hits"] == 3, s.stats()

    out = np.full(4, 9, "f4")
    tenon._call(lib.tn_session_set_output, s._handle, b"y", out.ctypes.data, 15)
    refused("MISMATCH", "output 'y' needs 16 bytes, its memory has 15", lib.tn_session_run, s._handle)
    tenon._call(lib.tn_session_set_output, s._handle, b"y", out.ctypes.data, 16)
    s.run({"x": np.array([1, -1, 2, 3], "f4")})
    assert lib.tn_session_output(s._handle, 0).contents.data == out.ctypes.data
    assert out.tolist() == [2, -1, 4, 6]
    both = np.array([5, -5, 1, 0], "f4")  # over an input: copied at the end
    tenon._call(lib.tn_session_set_output, s._handle, b"y", both.ctypes.data, 16)
    s.run({"x": both})
    assert both.tolist() == [10, -5, 2, 0]
    tenon._call(lib.tn_session_set_output, s._handle, b"y", None, 0)
    assert s.run({"x": out})["y"].tolist() == [4, -1, 8, 12] and out.tolist() == [2, -1, 4, 6]

    s.run({"x": np.zeros(1 << 16, "f4")})
    large = s.stats()["total_bytes"]
    assert s.run({"x": out}) and s.stats()["total_bytes"] == large  # memory stays for larger shapes to come
    lib.tn_session_trim(s._handle)
    assert s.stats()["total_bytes"] < large / 4, (s.stats(), large)
    assert not lib.tn_session_output(s._handle, 0)
    assert s.run()["y"].tolist() == [4, -1, 8, 12]

    lib.tn_session_cancel(s._handle)
    refused("CANCELLED", "the run was cancelled", lib.tn_session_run, s._handle)
    steps = []
    progress = _ffi.PROGRESS(lambda arg, done, steps_: steps.append((done, steps_)) or done == 1)
    lib.tn_session_set_progress(s._handle, progress, None)
    refused("CANCELLED", "the run was cancelled", lib.tn_session_run, s._handle)
    assert [done for done, _ in steps] == [0, 1]
    lib.tn_session_set_progress(s._handle, _ffi.PROGRESS(), None)
    assert s.run()["y"].tolist() == [4, -1, 8, 12]

    os.environ["TENON_SHRINK"] = "1"
    shrinking = program.session(threads=1)
    del os.environ["TENON_SHRINK"]
    shrinking.run({"x": np.zeros(1 << 16, "f4")})
    large = shrinking.stats()["total_bytes"]
    assert shrinking.run({"x": out})["y"].tolist() == [4, -1, 8, 12]
    assert shrinking.stats()["total_bytes"] < large / 4, (shrinking.stats(), large)

    options = _ffi.SessionOptions(size=ctypes.sizeof(_ffi.SessionOptions), threads=1, max_memory=1 << 20)
    handle = ctypes.c_void_p()
    tenon._call(lib.tn_session_create, program._handle, ctypes.byref(options), ctypes.byref(handle))
    tensor, keep = tenon._to_tensor(np.zeros(1 << 20, "f4"))
    tenon._call(lib.tn_session_set_input, handle, b"x", ctypes.byref(tensor))
    refused("LIMIT", "only 1048576 are allowed", lib.tn_session_run, handle)
    tensor, keep = tenon._to_tensor(np.zeros(10, "f4"))
    tenon._call(lib.tn_session_set_input, handle, b"x", ctypes.byref(tensor))
    tenon._call(lib.tn_session_run, handle)
    lib.tn_session_release(handle)

    options = _ffi.SessionOptions(size=ctypes.sizeof(_ffi.SessionOptions), threads=1, check_finite=1)
    tenon._call(lib.tn_session_create, program._handle, ctypes.byref(options), ctypes.byref(handle))
    tensor, keep = tenon._to_tensor(np.array([1, np.inf], "f4"))
    tenon._call(lib.tn_session_set_input, handle, b"x", ctypes.byref(tensor))
    refused("MISMATCH", "element 1 of output 0 is inf", lib.tn_session_run, handle)
    lib.tn_session_release(handle)

    body = h.make_graph([h.make_node("Identity", ["c"], ["go"]), h.make_node("Identity", ["v"], ["w"])], "b",
                        [value("i", T.INT64, []), value("c", T.BOOL, []), value("v", T.FLOAT, [2])],
                        [value("go", T.BOOL, []), value("w", T.FLOAT, [2])])
    path = save([h.make_node("Loop", ["", "t", "x"], ["y"], body=body)],
                [value("t", T.BOOL, []), value("x", T.FLOAT, [2])], [value("y", T.FLOAT, [2])], folder)
    endless = tenon.compile(path).session(threads=1)
    lib.tn_session_set_deadline(endless._handle, 20000000)
    endless.set_input("t", np.array(True))
    endless.set_input("x", np.zeros(2, "f4"))
    refused("CANCELLED", "deadline of 20 ms", lib.tn_session_run, endless._handle)
print("session options hold")
