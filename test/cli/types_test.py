# needs: numpy onnx onnxruntime
"""Every element type through a .npy file, an Identity model and a .npy file again; the example against ONNX Runtime."""
import os
import tempfile
import unittest

import numpy as np
import onnxruntime
from onnx import TensorProto, helper

from _cli import EXAMPLE, SOURCE, tenon

# ONNX's type, numpy's type in the files, values
TYPES = [("BOOL", "?", [True, False, True]), ("INT8", "i1", [-128, 0, 127]), ("UINT8", "u1", [0, 1, 255]),
         ("INT16", "i2", [-32768, 1, 32767]), ("UINT16", "u2", [0, 1, 65535]), ("INT32", "i4", [-2**31, 0, 2**31 - 1]),
         ("UINT32", "u4", [0, 1, 2**32 - 1]), ("INT64", "i8", [-2**63, 0, 2**63 - 1]), ("UINT64", "u8", [0, 1, 2**64 - 1]),
         ("FLOAT16", "f2", [1.5, -np.inf, np.nan]), ("FLOAT", "f4", [1e-40, -0.0, 3e38]), ("DOUBLE", "f8", [1e-300, 0.1, 7]),
         ("COMPLEX64", "c8", [1 + 2j, -3j, 0]), ("COMPLEX128", "c16", [1 + 2j, -3j, 0.1]),
         ("BFLOAT16", "u2", [0x3F80, 0x7F80, 1]), ("FLOAT8E4M3FN", "u1", [0x38, 0x7F, 1]),
         ("FLOAT8E5M2", "u1", [0x3C, 0x7C, 1]), ("STRING", "U", ["", "a", "grüße 🙂"]),
         ("INT4", "u1", [0, 7, 15]), ("UINT4", "u1", [0, 7, 15])]


class Types(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def identity(self, kind, name="y"):
        dtype = getattr(TensorProto, kind)
        graph = helper.make_graph([helper.make_node("Identity", ["x"], [name])], "g",
                                  [helper.make_tensor_value_info("x", dtype, ["n", "m"])],
                                  [helper.make_tensor_value_info(name, dtype, ["n", "m"])])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
        model.ir_version = 10
        with open(self.path("model.onnx"), "wb") as file:
            file.write(model.SerializeToString())
        return self.path("model.onnx")

    def test_round_trip(self):
        for kind, descr, values in TYPES:
            want = np.array([values], descr)
            for order in "<>":
                with self.subTest(kind, order=order):
                    np.save(self.path("x.npy"), np.asfortranarray(np.vstack([want, want])).astype(want.dtype.newbyteorder(order)))
                    tenon("run", self.identity(kind), "--input", "x=" + self.path("x.npy"), "-o", self.path("out"))
                    got = np.load(self.path("out/y.npy"))
                    self.assertEqual(got.dtype, want.dtype)
                    self.assertEqual(got.shape, (2, 3))
                    self.assertEqual(got[1].tobytes(), want[0].tobytes())

    def test_literals(self):
        rows = [("INT64", "[[-9223372036854775808, 9223372036854775807]]"), ("UINT64", "[[0, 18446744073709551615]]"),
                ("BOOL", "[[true, 0]]"), ("FLOAT16", "[[1.5, -inf]]"), ("FLOAT", "[[0.1, nan]]"), ("INT8", "[[-128, 127]]")]
        numbers = {"INT64": [-2**63, 2**63 - 1], "UINT64": [0, 2**64 - 1], "BOOL": [True, False], "FLOAT16": [1.5, -np.inf],
                   "FLOAT": [np.float32(0.1), np.nan], "INT8": [-128, 127]}
        for kind, text in rows:
            tenon("run", self.identity(kind), "--input", "x=" + text, "-o", self.path("out"))
            got = np.load(self.path("out/y.npy"))
            np.testing.assert_array_equal(got, np.array([numbers[kind]], got.dtype))
        for kind, text, why in [("INT8", "128", "'128' does not fit in i8"), ("UINT8", "-1", "'-1' does not fit in u8"),
                                ("UINT64", "18446744073709551616", "does not fit in u64"), ("FLOAT", "one", "'one' is no number"),
                                ("BOOL", "2", "'2' is neither true nor false")]:
            self.assertIn(why, tenon("run", self.identity(kind), "--input", "x=" + text, status=3)[1])

    def test_random_ranges(self):
        for kind, low, high in [("FLOAT", -1, 1), ("FLOAT16", -1, 1), ("DOUBLE", -1, 1), ("INT64", 0, 9), ("UINT8", 0, 9),
                                ("INT32", 0, 9), ("BOOL", 0, 1)]:
            tenon("run", self.identity(kind), "--input", "x=random:100x100", "-o", self.path("out"))
            got = np.load(self.path("out/y.npy")).astype(np.float64)
            self.assertGreaterEqual(got.min(), low)
            self.assertLessEqual(got.max(), high)
            self.assertLess(got.min(), low + 0.1)
            self.assertGreater(got.max(), high - 0.1)
            self.assertAlmostEqual(got.mean(), (low + high) / 2, delta=0.05 * (high - low))

    def test_unsafe_output_names(self):
        for name, file in [("/a/b:0", "_a_b_0.npy"), ("../x", "_._x.npy"), ("é", "é.npy"), ("a" * 300, "a" * 200 + ".npy")]:
            folder = self.path("names_" + str(len(name)) + name[0].replace("/", "s"))
            tenon("run", self.identity("FLOAT", name), "--input", "x=random:1x1", "-o", folder)
            self.assertEqual(os.listdir(folder), [file])

    def test_same_file_name_twice(self):
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["a/b"]), helper.make_node("Neg", ["x"], ["a:b"])], "g",
                                  [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
                                  [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in ["a/b", "a:b"]])
        with open(self.path("model.onnx"), "wb") as file:
            file.write(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString())
        tenon("run", self.path("model.onnx"), "--input", "x=[-1,2]", "-o", self.path("out"))
        np.testing.assert_array_equal(np.load(self.path("out/a_b.npy")), np.float32([0, 2]))
        np.testing.assert_array_equal(np.load(self.path("out/a_b_1.npy")), np.float32([1, -2]))

    def test_example_equals_onnx_runtime(self):
        session = onnxruntime.InferenceSession(EXAMPLE, providers=["CPUExecutionProvider"])
        rng = np.random.default_rng(3)
        for batch, height, width, length in [(1, 64, 64, 8), (2, 96, 160, 21), (5, 31, 47, 1), (1, 2, 2, 64)]:
            feeds = {"image": rng.standard_normal((batch, 3, height, width)).astype(np.float32),
                     "tokens": rng.integers(0, 101, (batch, length))}
            for name, value in feeds.items():
                np.save(self.path(name + ".npy"), value)
            tenon("run", EXAMPLE, "-o", self.path("out"),
                  *[arg for name in feeds for arg in ("--input", f"{name}={self.path(name)}.npy")])
            for info, want in zip(session.get_outputs(), session.run(None, feeds)):
                got = np.load(self.path(f"out/{info.name}.npy"))
                self.assertEqual(got.shape, want.shape)
                np.testing.assert_allclose(got, want, atol=1e-4, rtol=0, err_msg=info.name)

    def test_shapes_sheet(self):
        with open(os.path.join(SOURCE, "examples", "dynamic.shapes")) as sheet:
            for line in sheet:
                tenon("run", EXAMPLE, *[arg for text in line.split() for arg in ("--input", text)])


if __name__ == "__main__":
    unittest.main()
