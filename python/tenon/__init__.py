"""Tenon from Python: compile an ONNX model once, run it at any shape.

    program = tenon.compile("model.onnx")
    session = program.session(threads=2)
    outputs = session.run({"x": numpy_array})      # name -> numpy array (a list for a sequence, a dict for a map)

The library is found through TENON_LIB, then as the system's libtenon.
"""
import ctypes
import re

import numpy as np

from . import _ffi

_lib = _ffi.load()

# ONNX element type numbers that numpy has; the others travel as raw unsigned integers of the same width.
_NUMPY = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8",
          14: "c8", 15: "c16", 16: "u2", 17: "u1", 18: "u1", 19: "u1", 20: "u1", 24: "u1"}
_DTYPE = {np.dtype(text): number for number, text in reversed(_NUMPY.items()) if number < 16}
_STRING = 8
_BY_NAME = {"f32": "f4", "f64": "f8", "i64": "i8"}  # what maps hold, but for strings


class Error(Exception):
    """A refusal: `status` is its name ("INVALID"), the text says where and why."""

    def __init__(self, status, text):
        super().__init__(text or status)
        self.status = status


def _call(function, *arguments):
    report = ctypes.c_void_p()
    status = function(*arguments, ctypes.byref(report))
    text = (_lib.tn_report_text(report) or b"").decode("utf-8", "replace") if report else ""
    _lib.tn_report_release(report)
    if status:
        raise Error(_lib.tn_status_name(status).decode(), text.strip())
    return text


def _strings(values):
    array = (ctypes.c_char_p * max(1, len(values)))(*[v.encode() for v in values])
    return ctypes.cast(array, ctypes.POINTER(ctypes.c_char_p)), array


def version():
    return _lib.tn_version().decode()


def compile(path, knobs=(), assume=(), **gears):
    """Compiles an ONNX file (or loads a .tnp program). Gears (doc/gears.md) are texts: input_shape, batch_sizes,
    image_sizes, gear_dims, input_format, gear_miss."""
    options = _ffi.CompileOptions(size=ctypes.sizeof(_ffi.CompileOptions), n_knobs=len(knobs), n_assume=len(assume),
                                  **{name: text.encode() for name, text in gears.items()})
    options.knobs, keep_knobs = _strings(list(knobs))
    options.assume, keep_assume = _strings(list(assume))
    handle = ctypes.c_void_p()
    warnings = _call(_lib.tn_compile_file, str(path).encode(), ctypes.byref(options), ctypes.byref(handle))
    return Program(handle, warnings)


class Program:
    """Immutable; may be shared between threads."""

    def __init__(self, handle, warnings=""):
        self._handle = handle
        self.warnings = warnings
        self.inputs = self._infos(_lib.tn_program_input_count, _lib.tn_program_input)
        self.outputs = self._infos(_lib.tn_program_output_count, _lib.tn_program_output)

    def _infos(self, count, get):
        infos = []
        for i in range(count(self._handle)):
            info = _ffi.ValueInfo()
            get(self._handle, i, ctypes.byref(info))
            infos.append((info.name.decode(), info.type_text.decode()))
        return infos

    def gears(self):
        """For each gear: ({input: dims}, {output: dims}); -1 is what only a run tells, None an unknown rank."""
        return [tuple(self._gear_dims(gear, ports, get)
                      for ports, get in ((self.inputs, _lib.tn_program_gear_input),
                                         (self.outputs, _lib.tn_program_gear_output)))
                for gear in range(_lib.tn_program_gear_count(self._handle))]

    def _gear_dims(self, gear, ports, get):
        found = {}
        for i, (name, _) in enumerate(ports):
            dims, rank = (ctypes.c_int64 * 16)(), ctypes.c_int()
            get(self._handle, gear, i, dims, ctypes.byref(rank))
            found[name] = None if rank.value < 0 else tuple(dims[:rank.value])
        return found

    def save(self, path, weights="embed"):
        """weights="reference": those that lie aligned in the model's files stay there (tenon.h, tn_weights)."""
        _call(_lib.tn_program_save_as, self._handle, str(path).encode(), ["embed", "reference"].index(weights))

    def session(self, threads=0, seed=0):
        return Session(self, threads, seed)

    def __del__(self):
        if getattr(self, "_handle", None):
            _lib.tn_program_free(self._handle)


class Session:
    """One thread at a time."""

    def __init__(self, program, threads=0, seed=0):
        self._program = program
        options = _ffi.SessionOptions(size=ctypes.sizeof(_ffi.SessionOptions), threads=threads, seed=seed)
        self._handle = ctypes.c_void_p()
        self._inputs = {}
        _call(_lib.tn_session_create, program._handle, ctypes.byref(options), ctypes.byref(self._handle))

    def set_input(self, name, value):
        tensor, keep = _to_tensor(value, dict(self._program.inputs).get(name, ""))
        _call(_lib.tn_session_set_input, self._handle, name.encode(), ctypes.byref(tensor))
        self._inputs[name] = keep  # the session borrows the bytes

    def set_symbol(self, name, value):
        _call(_lib.tn_session_set_symbol, self._handle, name.encode(), value)

    def run(self, inputs=None):
        for name, value in (inputs or {}).items():
            self.set_input(name, value)
        _call(_lib.tn_session_run, self._handle)
        return {name: _from_tensor(_lib.tn_session_output(self._handle, i).contents)
                for i, (name, _) in enumerate(self._program.outputs)}

    def link(self, output, input):
        """After each run the output is the input of the next one; None: no longer."""
        _call(_lib.tn_session_link, self._handle, output.encode() if output else None, input.encode())

    def set_gear(self, gear):
        """From now on a run must be in this gear; -1: in any."""
        _call(_lib.tn_session_set_gear, self._handle, gear)

    def gear(self):
        """That the last run was in, or was padded to; -1: in none."""
        return _lib.tn_session_gear(self._handle)

    def stats(self):
        stats = _ffi.SessionStats(size=ctypes.sizeof(_ffi.SessionStats))
        _lib.tn_session_get_stats(self._handle, ctypes.byref(stats))
        return {name: getattr(stats, name) for name, _ in stats._fields_ if name != "size"}

    def __del__(self):
        if getattr(self, "_handle", None):
            _lib.tn_session_release(self._handle)


def _to_items(kind, values):
    pairs = [_to_tensor(item) for item in values]
    items = (_ffi.Tensor * max(1, len(pairs)))(*[tensor for tensor, _ in pairs])
    return _ffi.Tensor(kind=kind, items=items, n_items=len(pairs)), [items, pairs]


def _to_tensor(value, type_text=""):
    """(Tensor, objects that must stay alive with it). Numbers of a dict are of the type that the text says."""
    if isinstance(value, dict):
        names = re.match(r"map\((\w+), (\w+)\[", type_text)
        kinds = [_BY_NAME.get(name, object) for name in names.groups()] if names else [None, None]
        return _to_items(3, [np.array(list(part), dtype=kind) for part, kind in zip((value.keys(), value.values()), kinds)])
    if isinstance(value, (list, tuple)):
        return _to_items(1, value)
    array = np.asarray(value)
    shape = array.shape
    array = np.ascontiguousarray(array).reshape(shape)  # ascontiguousarray makes scalars one-dimensional
    dims = (ctypes.c_int64 * max(1, array.ndim))(*shape)
    tensor = _ffi.Tensor(rank=array.ndim, dims=dims)
    if array.dtype.kind in "OUS":
        texts = [t if isinstance(t, bytes) else str(t).encode() for t in array.reshape(-1).tolist()]
        buffers = [ctypes.create_string_buffer(t, len(t) + 1) for t in texts]
        strings = (_ffi.String * max(1, len(texts)))(*[(ctypes.addressof(b), len(t)) for b, t in zip(buffers, texts)])
        tensor.dtype, tensor.data = _STRING, ctypes.addressof(strings)
        return tensor, [dims, buffers, strings]
    if array.dtype not in _DTYPE:
        raise TypeError("numpy type %s has no ONNX element type" % array.dtype)
    tensor.dtype, tensor.data, tensor.bytes = _DTYPE[array.dtype], array.ctypes.data, array.nbytes
    return tensor, [dims, array]


def _from_tensor(tensor):
    if tensor.kind == 1:
        return [_from_tensor(tensor.items[i]) for i in range(tensor.n_items)]
    if tensor.kind == 3:
        return dict(zip(_from_tensor(tensor.items[0]).tolist(), _from_tensor(tensor.items[1]).tolist()))
    if tensor.kind == 2:
        return _from_tensor(tensor.items[0]) if tensor.n_items else None
    shape = tuple(tensor.dims[i] for i in range(tensor.rank))
    count = int(np.prod(shape, dtype=np.int64))
    if tensor.dtype == _STRING:
        strings = ctypes.cast(tensor.data, ctypes.POINTER(_ffi.String))
        texts = [ctypes.string_at(strings[i].ptr, strings[i].len).decode("utf-8", "replace") for i in range(count)]
        return np.array(texts, dtype=object).reshape(shape)
    if tensor.dtype not in _NUMPY:
        return np.frombuffer(ctypes.string_at(tensor.data, tensor.bytes), dtype=np.uint8)
    dtype = np.dtype(_NUMPY[tensor.dtype])
    if count == 0:
        return np.empty(shape, dtype)
    return np.frombuffer(ctypes.string_at(tensor.data, count * dtype.itemsize), dtype=dtype).reshape(shape)
