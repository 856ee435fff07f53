"""Tenon as a backend of the onnx package, so that ONNX's own test runner drives it:

    from onnx.backend.test import BackendTest
    globals().update(BackendTest(tenon.backend.Backend, __name__).test_cases)

`prepare`, `run_model`, `run_node` and `supports_device` are also functions of the module, as the package asks for.
"""
import ctypes

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.base import Backend as _Base
from onnx.backend.base import BackendRep

from . import Error, Program, Session, _call, _ffi, _from_tensor, _lib, _to_tensor

_STRING = onnx.TensorProto.STRING
_KINDS = {"seq": 1, "opt": 2}


def _tensor_of(value, kind):
    """(Tensor, objects that must stay alive with it) of an array, a list (sequence) or None (empty optional)."""
    if kind == "opt" or isinstance(value, (list, tuple)):
        given = value if isinstance(value, (list, tuple)) and kind != "opt" else [] if value is None else [value]
        pairs = [_tensor_of(item, "") for item in given]
        items = (_ffi.Tensor * max(1, len(pairs)))(*[tensor for tensor, _ in pairs])
        return _ffi.Tensor(kind=_KINDS.get(kind, 1), items=items, n_items=len(pairs)), [items, pairs]
    array = np.asarray(value)
    if array.dtype.kind in "OUS":
        return _to_tensor(array)
    proto = numpy_helper.from_array(array)  # knows the types that numpy lacks, and packs those of 4 and 2 bits
    data = ctypes.create_string_buffer(proto.raw_data, max(1, len(proto.raw_data)))
    dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    return _ffi.Tensor(rank=array.ndim, dims=dims, dtype=proto.data_type, data=ctypes.addressof(data),
                       bytes=len(proto.raw_data)), [dims, data]


def _value_of(tensor):
    if tensor.kind == 1:
        return [_value_of(tensor.items[i]) for i in range(tensor.n_items)]
    if tensor.kind == 2:
        return _value_of(tensor.items[0]) if tensor.n_items else None
    if tensor.dtype == _STRING:
        return _from_tensor(tensor)
    dims = [tensor.dims[i] for i in range(tensor.rank)]
    data = ctypes.string_at(tensor.data, tensor.bytes) if tensor.bytes else b""
    return numpy_helper.to_array(onnx.TensorProto(data_type=tensor.dtype, dims=dims, raw_data=data))


class Prepared(BackendRep):
    """A compiled model. `run` takes the inputs in the graph's order, or by name, and gives the outputs in order."""

    def __init__(self, model):
        data = model if isinstance(model, bytes) else model.SerializeToString()
        options = _ffi.CompileOptions(size=ctypes.sizeof(_ffi.CompileOptions))
        handle = ctypes.c_void_p()
        _call(_lib.tn_compile_memory, data, len(data), ctypes.byref(options), ctypes.byref(handle))
        self._program = Program(handle)
        self._session = Session(self._program, threads=1)

    def run(self, inputs, **kwargs):
        named = inputs if isinstance(inputs, dict) else dict(zip((n for n, _ in self._program.inputs), inputs))
        kinds = {name: text[:3] if text.startswith(("seq(", "opt(")) else "" for name, text in self._program.inputs}
        keep = []
        for name, value in named.items():
            tensor, alive = _tensor_of(value, kinds.get(name, ""))
            keep.append((tensor, alive))
            _call(_lib.tn_session_set_input, self._session._handle, name.encode(), ctypes.byref(tensor))
        _call(_lib.tn_session_run, self._session._handle)
        return tuple(_value_of(_lib.tn_session_output(self._session._handle, i).contents)
                     for i in range(len(self._program.outputs)))


class Backend(_Base):
    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        if not cls.supports_device(device):
            raise Error("UNSUPPORTED", "device %s" % device)
        return Prepared(model)

    @classmethod
    def run_model(cls, model, inputs, device="CPU", **kwargs):
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(cls, node, inputs, device="CPU", outputs_info=None, **kwargs):
        """`outputs_info` is not needed. Inputs that the node leaves out are left out of `inputs` too."""
        names = [name for name in node.input if name]
        values = [onnx.helper.make_tensor_value_info(n, onnx.helper.np_dtype_to_tensor_dtype(np.asarray(v).dtype),
                                                     np.asarray(v).shape) for n, v in zip(names, inputs)]
        results = [onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", values, results)
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        opsets = [onnx.helper.make_opsetid("", version)]
        if node.domain:
            opsets.append(onnx.helper.make_opsetid(node.domain, kwargs.get("domain_version", 1)))
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=opsets), inputs, device)

    @classmethod
    def supports_device(cls, device):
        return device.split(":")[0] == "CPU"


prepare = Backend.prepare
run_model = Backend.run_model
run_node = Backend.run_node
supports_device = Backend.supports_device
