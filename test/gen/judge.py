"""Who is right: runs a model in Tenon, in ONNX Runtime, in the reference implementation of the onnx package; compares."""
import copy
import ctypes
import os

os.environ["ALLOW_RELEASED_ONNX_OPSET_ONLY"] = "0"  # ONNX Runtime: also the opset in development

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

import tenon

onnxruntime.set_default_logger_severity(4)
onnxruntime.set_default_logger_verbosity(0)


class Refused(Exception):
    pass


def runtime_session(data):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def by_runtime(model, feeds):
    return runtime_session(model.SerializeToString()).run(None, feeds)


def by_reference(model, feeds):
    with np.errstate(all="ignore"):
        return ReferenceEvaluator(model).run(None, feeds)


NARROW = {onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}


def by_twin(it, opset, feeds):
    """The model with float32 in place of the other float types, by ONNX Runtime; for operators it has in float alone."""
    twin = copy.copy(it)
    single = lambda t: onnx.TensorProto.FLOAT if t in NARROW else t
    floats = lambda arrays: {n: a.astype("f4") if a.dtype.kind == "f" else a for n, a in arrays.items()}
    twin.input_types = {n: single(t) for n, t in it.input_types.items()}
    twin.bound = {n: single(t) for n, t in it.bound.items()}
    twin.constants, twin.inputs = floats(it.constants), floats(it.inputs)
    if any(it.attrs.get(a) in NARROW for a in ("to", "dtype", "output_dtype", "output_datatype")) or twin.bound == it.bound:
        raise Refused("no twin")
    twin.prelude = []
    for node in it.prelude:
        node = onnx.NodeProto.FromString(node.SerializeToString())
        for a in node.attribute:
            if node.op_type == "Cast" and a.name == "to":
                a.i = single(a.i)
        twin.prelude.append(node)
    return by_runtime(twin.model(opset), twin.inputs)


def program(data):
    """tenon.compile from memory."""
    handle, lib = ctypes.c_void_p(), tenon._lib
    options = tenon._ffi.CompileOptions(size=ctypes.sizeof(tenon._ffi.CompileOptions))
    tenon._call(lib.tn_compile_memory, data, len(data), ctypes.byref(options), ctypes.byref(handle))
    return tenon.Program(handle)


def by_tenon(model, feeds, threads=1):
    it = program(model.SerializeToString())
    results = it.session(threads=threads).run(feeds)
    return [results[o.name] for o in model.graph.output]


EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}


def packed(bits):
    def run(a):
        codes, per = a.astype("i1").view("u1").ravel() & (1 << bits) - 1, 8 // bits
        codes = np.concatenate([codes, np.zeros(-codes.size % per, "u1")]).reshape(-1, per)
        return sum(codes[:, i] << i * bits for i in range(per)).astype("u1")
    return run


def bytes_of(a):
    return a.view("u%d" % a.dtype.itemsize)


# Types that Tenon's results have not in numpy come as they lie in memory.
RAW = {"bfloat16": bytes_of, "int4": packed(4), "uint4": packed(4), "int2": packed(2), "uint2": packed(2),
       "float4_e2m1fn": lambda a: packed(4)(a.view("i1")), **{"float8_" + k: bytes_of for k in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu")}}


def text_of(value):
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def difference(got, want, units, epsilon=None, off_by=0):
    """None, or what differs. units: how many epsilons of max(1, the largest wanted) apart floats may be."""
    if isinstance(want, (list, tuple)):
        if not isinstance(got, (list, tuple)) or len(got) != len(want):
            return "a sequence of %s, expected %d" % (len(got) if isinstance(got, (list, tuple)) else type(got), len(want))
        parts = [difference(g, w, units, epsilon, off_by) for g, w in zip(got, want)]
        return next((p for p in parts if p), None)
    if want is None or got is None:
        return None if want is got else "%s, expected %s" % (type(got), type(want))
    got, want = np.asarray(got), np.asarray(want)
    if str(want.dtype) in RAW and got.dtype in (np.uint8, np.uint16):
        want = RAW[str(want.dtype)](want)
    if got.shape != want.shape:
        return "shape %s, expected %s" % (got.shape, want.shape)
    if want.dtype.kind in "OUS" or got.dtype.kind in "OUS":
        a, b = [text_of(v) for v in got.ravel()], [text_of(v) for v in want.ravel()]
        return None if a == b else "%s, expected %s" % (a[:6], b[:6])
    if got.dtype != want.dtype:
        return "type %s, expected %s" % (got.dtype, want.dtype)
    if want.size == 0:
        return None
    if want.dtype.kind in "biu":
        with np.errstate(all="ignore"):
            bad = got != want if not off_by else np.abs(got.astype("i8") - want.astype("i8")) > off_by
        return None if not bad.any() else said(got, want, bad)
    if want.dtype.kind == "c":
        pairs = "f4" if want.dtype.itemsize == 8 else "f8"
        return difference(np.ascontiguousarray(got).view(pairs), np.ascontiguousarray(want).view(pairs), units, epsilon)
    e = epsilon or EPSILON.get(str(want.dtype), 2.0**-7)
    a, b = got.astype("f8"), want.astype("f8")
    with np.errstate(all="ignore"):
        finite = np.abs(b[np.isfinite(b)])
        scale = max(1.0, finite.max()) if finite.size else 1.0
        bad = ~((a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= units * e * scale))
    return None if not bad.any() else said(got, want, bad)


def said(got, want, bad):
    at = np.unravel_index(int(np.argmax(bad)), bad.shape)
    return "element %s of %s is %s, expected %s; %d of %d differ" % (list(map(int, at)), list(bad.shape), got[at], want[at], int(bad.sum()), bad.size)
