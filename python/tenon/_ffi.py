"""Declarations of include/tenon/tenon.h for ctypes. test/api/ffi.py compares them with the header."""
import ctypes
import ctypes.util
import os
from ctypes import CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_int, c_int64, c_size_t, c_uint64, c_void_p


class String(Structure):
    _fields_ = [("ptr", c_void_p), ("len", c_size_t)]


class Tensor(Structure):
    pass


Tensor._fields_ = [
    ("kind", c_int),
    ("dtype", c_int),
    ("rank", c_int),
    ("dims", POINTER(c_int64)),
    ("data", c_void_p),
    ("bytes", c_size_t),
    ("items", POINTER(Tensor)),
    ("n_items", c_size_t),
]


class CompileOptions(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("knobs", POINTER(c_char_p)),
        ("n_knobs", c_size_t),
        ("assume", POINTER(c_char_p)),
        ("n_assume", c_size_t),
        ("input_shape", c_char_p),
        ("batch_sizes", c_char_p),
        ("image_sizes", c_char_p),
        ("gear_dims", c_char_p),
        ("input_format", c_char_p),
        ("gear_miss", c_char_p),
    ]


class ValueInfo(Structure):
    _fields_ = [("name", c_char_p), ("kind", c_int), ("dtype", c_int), ("rank", c_int), ("type_text", c_char_p)]


class SessionOptions(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("threads", c_int),
        ("seed", c_uint64),
        ("own_threads", c_void_p),
        ("max_memory", c_int64),
        ("kept_shapes", c_int64),
        ("check_finite", c_int),
    ]


class SessionStats(Structure):
    _fields_ = [
        ("size", c_size_t),
        ("binds", c_int64),
        ("runs", c_int64),
        ("arena_bytes", c_int64),
        ("live_bytes", c_int64),
        ("total_bytes", c_int64),
        ("bind_hits", c_int64),
    ]


PROGRESS = CFUNCTYPE(c_int, c_void_p, c_size_t, c_size_t)
RELEASE = CFUNCTYPE(None, c_void_p)
_REPORT = POINTER(c_void_p)
_OUT = POINTER(c_void_p)

FUNCTIONS = {  # name: (result, arguments)
    "tn_version": (c_char_p, []),
    "tn_status_name": (c_char_p, [c_int]),
    "tn_dtype_text": (c_char_p, [c_int]),
    "tn_report_text": (c_char_p, [c_void_p]),
    "tn_report_count": (c_size_t, [c_void_p]),
    "tn_report_get": (None, [c_void_p, c_size_t, POINTER(c_char), POINTER(c_int), POINTER(c_char_p), POINTER(c_char_p)]),
    "tn_report_release": (None, [c_void_p]),
    "tn_compile_file": (c_int, [c_char_p, POINTER(CompileOptions), _OUT, _REPORT]),
    "tn_compile_memory": (c_int, [c_void_p, c_size_t, POINTER(CompileOptions), _OUT, _REPORT]),
    "tn_program_save": (c_int, [c_void_p, c_char_p, _REPORT]),
    "tn_program_save_as": (c_int, [c_void_p, c_char_p, c_int, _REPORT]),
    "tn_program_load_file": (c_int, [c_char_p, _OUT, _REPORT]),
    "tn_program_add_ref": (None, [c_void_p]),
    "tn_program_free": (None, [c_void_p]),
    "tn_program_input_count": (c_size_t, [c_void_p]),
    "tn_program_output_count": (c_size_t, [c_void_p]),
    "tn_program_input": (c_int, [c_void_p, c_size_t, POINTER(ValueInfo)]),
    "tn_program_output": (c_int, [c_void_p, c_size_t, POINTER(ValueInfo)]),
    "tn_program_input_dim": (c_char_p, [c_void_p, c_size_t, c_int]),
    "tn_program_gear_count": (c_size_t, [c_void_p]),
    "tn_program_gear_input": (c_int, [c_void_p, c_size_t, c_size_t, POINTER(c_int64), POINTER(c_int)]),
    "tn_program_gear_output": (c_int, [c_void_p, c_size_t, c_size_t, POINTER(c_int64), POINTER(c_int)]),
    "tn_program_symbol_count": (c_size_t, [c_void_p]),
    "tn_program_symbol": (c_int, [c_void_p, c_size_t, POINTER(c_char_p), POINTER(c_int64), POINTER(c_int64), POINTER(c_int64)]),
    "tn_session_create": (c_int, [c_void_p, POINTER(SessionOptions), _OUT, _REPORT]),
    "tn_session_release": (None, [c_void_p]),
    "tn_session_set_input": (c_int, [c_void_p, c_char_p, POINTER(Tensor), _REPORT]),
    "tn_session_set_symbol": (c_int, [c_void_p, c_char_p, c_int64, _REPORT]),
    "tn_session_run": (c_int, [c_void_p, _REPORT]),
    "tn_session_set_output": (c_int, [c_void_p, c_char_p, c_void_p, c_size_t, _REPORT]),
    "tn_session_cancel": (None, [c_void_p]),
    "tn_session_set_deadline": (None, [c_void_p, c_int64]),
    "tn_session_set_progress": (None, [c_void_p, PROGRESS, c_void_p]),
    "tn_session_trim": (None, [c_void_p]),
    "tn_session_link": (c_int, [c_void_p, c_char_p, c_char_p, _REPORT]),
    "tn_session_set_gear": (c_int, [c_void_p, c_int, _REPORT]),
    "tn_session_gear": (c_int, [c_void_p]),
    "tn_session_output": (POINTER(Tensor), [c_void_p, c_size_t]),
    "tn_session_get_stats": (None, [c_void_p, POINTER(SessionStats)]),
    "tn_threads_create": (c_int, [c_int, _OUT, _REPORT]),
    "tn_threads_release": (None, [c_void_p]),
    "tn_tensor_from_dlpack": (c_int, [c_void_p, POINTER(POINTER(Tensor)), _REPORT]),
    "tn_tensor_release": (None, [POINTER(Tensor)]),
    "tn_tensor_to_dlpack": (c_int, [POINTER(Tensor), RELEASE, c_void_p, _OUT, _REPORT]),
}


def load():
    path = os.environ.get("TENON_LIB") or ctypes.util.find_library("tenon") or "libtenon.so.0"
    lib = ctypes.CDLL(path)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(lib, name)
        function.restype = result
        function.argtypes = arguments
    return lib
