# needs: numpy onnx onnxruntime
"""Maps: ZipMap, DictVectorizer and CastMap, through the library, a program file and the command line."""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import tenon

FLOAT, STRING, INT = TensorProto.FLOAT, TensorProto.STRING, TensorProto.INT64
failed = 0


def tensor(kind, dims=None):
    return helper.make_tensor_type_proto(kind, dims)


def mapping(key, value):
    return helper.make_map_type_proto(key, tensor(value))


def model(op, x, y, **attrs):
    node = helper.make_node(op, ["x"], ["y"], domain="ai.onnx.ml", **attrs)
    graph = helper.make_graph([node], op, [onnx.ValueInfoProto(name="x", type=x)], [onnx.ValueInfoProto(name="y", type=y)])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)])
    proto.ir_version = 8
    return proto.SerializeToString()


def same(a, b):
    if isinstance(a, (list, dict)):
        return a == b
    return a.shape == b.shape and a.tolist() == b.tolist()


def check(label, data, feed, want=None):
    """want: where ONNX Runtime does not take such a map."""
    global failed
    path, saved = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.tnp")
    with open(path, "wb") as f:
        f.write(data)
    if want is None:
        want = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"]).run(None, {"x": feed})[0]
    program = tenon.compile(path)
    program.save(saved)
    for how, p in (("", program), (" (from a file)", tenon.compile(saved))):
        session = p.session(threads=1)
        got = [session.run({"x": feed})["y"] for _ in range(2)]
        ok = all(same(want, g) for g in got)
        failed += not ok
        print("%s %s%s%s" % ("ok  " if ok else "FAIL", label, how, "" if ok else ": %r, expected %r" % (got, want)))


with tempfile.TemporaryDirectory() as folder:
    for rows in (0, 1, 4):
        x = np.arange(3 * rows, dtype="f4").reshape(rows, 3)
        for key, labels in ((INT, {"classlabels_int64s": [5, -3, 9]}), (STRING, {"classlabels_strings": ["b", "a", ""]})):
            zipped = model("ZipMap", tensor(FLOAT, ["N", 3]), helper.make_sequence_type_proto(mapping(key, FLOAT)), **labels)
            check("ZipMap of %d rows" % rows, zipped, x)
    check("ZipMap of a vector", model("ZipMap", tensor(FLOAT, [3]), helper.make_sequence_type_proto(mapping(key, FLOAT)), **labels), x[0])
    for words, numbers in (("c a", "1.5 2.5"), ("z", "1"), ("", "")):
        feed = dict(zip(words.split(), [float(v) for v in numbers.split()]))
        vectorizer = model("DictVectorizer", mapping(STRING, FLOAT), tensor(FLOAT), string_vocabulary=["a", "b", "c"])
        check("DictVectorizer of %d" % len(feed), vectorizer, feed, None if feed else np.zeros((1, 3), "f4"))
    check("DictVectorizer by number", model("DictVectorizer", mapping(INT, FLOAT), tensor(FLOAT), int64_vocabulary=[1, 7, 5]), {5: 1.5, 2: 7.0, 1: 3.0})
    texts = model("DictVectorizer", mapping(INT, STRING), tensor(STRING), int64_vocabulary=[1, 7, 5])
    check("DictVectorizer of texts", texts, {5: "p", 1: "q"}, np.array([["q", "", "p"]], dtype=object))
    for to, kind in (("TO_FLOAT", FLOAT), ("TO_INT64", INT)):
        for form, numbers in (("DENSE", {3: 1.5, 1: 2.5, 12: -4.0}), ("SPARSE", {3: 1.5, 1: 2.5})):
            check("CastMap %s %s" % (to, form), model("CastMap", mapping(INT, FLOAT), tensor(kind), cast_to=to, map_form=form, max_map=5), numbers)
    dense = model("CastMap", mapping(INT, STRING), tensor(FLOAT), cast_to="TO_FLOAT")
    check("CastMap of texts", dense, {3: "3", 1: "4.5"}, np.array([[4.5, 3]], "f4"))

    with open(os.path.join(folder, "m.onnx"), "wb") as f:
        f.write(dense)
    for bad in ({"a": "1"}, [1.0], {1: "x"}, np.zeros(1)):  # wanted: a map from numbers to texts that are numbers
        try:
            tenon.compile(f.name).session().run({"x": bad})
            ok = False
        except (tenon.Error, ValueError):
            ok = True
        failed += not ok
        print("%s %r is refused" % ("ok  " if ok else "FAIL", bad))

    with open(os.path.join(folder, "m.onnx"), "wb") as f:
        f.write(zipped)
    command = [os.environ["TENON"], "run", f.name, "--input", "x=[[1, 2, 3], [4, 5, 6]]", "--output", folder, "--compare", "oracle"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    ok = 'y[1]  map(str, f32) of 3  {"b": 4, "a": 5, "": 6}' in said and np.load(os.path.join(folder, "y_1_values.npy")).tolist() == [4, 5, 6]
    failed += not ok
    print("ok  " if ok else "FAIL", "command line", "" if ok else said)
sys.exit(failed != 0)
