"""Runs one operator in Tenon and in ONNX Runtime and compares."""
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import tenon

rng = np.random.default_rng(7)
failed = 0


def real(*shape, dtype="f4"):
    return rng.standard_normal(shape).astype(dtype)


def text(*words):
    return np.array(words, dtype=object)


def ints(low, high, *shape, dtype="i8"):
    return rng.integers(low, high, shape).astype(dtype)


def build(op, inputs, wanted, domain, version, ai_opset, constants, attrs, types=()):
    """A model of one node whose inputs have symbolic dims; the file's bytes and what is to be fed. types: element types of
    outputs by number, where ONNX Runtime does not infer them."""
    names = [n if a is not None else "" for n, a in inputs]
    while names and not names[-1]:
        names.pop()
    arrays = {n: a for n, a in inputs if a is not None}
    node = helper.make_node(op, names, ["y%d" % i if i in wanted else "" for i in range(wanted[-1] + 1)], domain=domain, **attrs)
    kind = lambda a: TensorProto.STRING if a.dtype.kind in "OU" else helper.np_dtype_to_tensor_dtype(a.dtype)
    fed = {n: a for n, a in arrays.items() if n not in constants}
    graph = helper.make_graph(
        [node], op,
        [helper.make_tensor_value_info(n, kind(a), ["%s_%d" % (n, d) for d in range(a.ndim)]) for n, a in fed.items()],
        [helper.make_tensor_value_info("y%d" % i, types[i], None) if i in types else helper.make_empty_tensor_value_info("y%d" % i) for i in wanted],
        [onnx.numpy_helper.from_array(arrays[n], n) for n in constants if n in arrays])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", ai_opset)] + ([helper.make_opsetid(domain, version)] if domain else []))
    proto.ir_version = 10
    return proto.SerializeToString(), fed


def theirs(data, fed):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"]).run(None, fed)


def by_reference(data, fed):
    """The same by the reference implementation of the onnx package."""
    from onnx.reference import ReferenceEvaluator
    return ReferenceEvaluator(onnx.load_from_string(data)).run(None, fed)


def ours(data, fed):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as f:
            f.write(data)
        return tenon.compile(path).session(threads=2).run(fed)


def check(label, op, inputs, outputs=1, domain="com.microsoft", version=1, ai_opset=21, constants=(), tolerance=1e-5, instead=None, judge=theirs, types=(), **attrs):
    """inputs: (name, array or None) in order; outputs: a count or the set of output numbers asked for; instead: inputs
    that mean the same, for a form ONNX Runtime does not know."""
    global failed
    wanted = sorted(range(outputs) if isinstance(outputs, int) else outputs)
    common = (wanted, domain, version, ai_opset, constants, attrs, types)
    try:
        want = judge(*build(op, instead or inputs, *common))
        runs = {"": ours(*build(op, inputs, *common))}
        # With constant operands the node is folded: what the oracle says.
        every = tuple(n for n, a in inputs if a is not None)
        runs["folded "] = ours(*build(op, inputs, wanted, domain, version, ai_opset, every, attrs, types))
    except Exception as e:  # every refusal is a failure here
        print("FAIL %s %s: %s" % (op, label, e))
        failed += 1
        return
    for how, i, expected in ((how, i, e) for how in runs for i, e in zip(wanted, want)):
        actual = runs[how]["y%d" % i]
        if actual.dtype.kind in "OUS" or expected.dtype.kind in "OUS":
            ok = [str(v) for v in np.ravel(actual)] == [str(v) for v in np.ravel(expected)]
            error = 0.0
        else:
            same = actual.shape == expected.shape and actual.dtype == expected.dtype
            a, b = actual.astype("f8"), expected.astype("f8")
            error = np.inf
            if same:
                with np.errstate(invalid="ignore"):
                    error = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0, np.abs(a - b) / np.maximum(1, np.abs(b))).max(initial=0)
            ok = error <= tolerance
        failed += not ok
        if not ok:
            print("FAIL %s%s %s y%d: %s %s, expected %s %s, error %.3g" % (how, op, label, i, actual.dtype, actual.shape, expected.dtype, expected.shape, error))
        else:
            print("ok   %s%s %s y%d %s error %.2g" % (how, op, label, i, actual.shape, error))


def refuse(label, op, inputs, domain="com.microsoft", version=1, ai_opset=21, **attrs):
    """The run ends with a status, in ONNX Runtime too."""
    global failed
    data, fed = build(op, inputs, [0], domain, version, ai_opset, (), attrs)
    for side in (theirs, ours):
        try:
            side(data, fed)
            print("FAIL %s %s: %s computes something" % (op, label, side.__name__))
            failed += 1
        except Exception as e:
            print("ok   %s %s: %s" % (op, label, str(e)[:120]))


def finish():
    sys.exit(1 if failed else 0)
