# needs: numpy onnx
"""`tenon test`: verdicts, tolerances, expected lists, and cases that crash or hang."""
import json
import os
import signal
import subprocess
import tempfile
import time
import unittest

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from _cli import TENON, tenon


def value(name, dtype, dims):
    return helper.make_tensor_value_info(name, dtype, dims)


class Backend(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name

    def case(self, name, nodes, x, *wants, dims=("n",), domain=None):
        """Model x -> y; each of wants is the expected y of one data set."""
        dtype = helper.np_dtype_to_tensor_dtype(x.dtype)
        out = helper.np_dtype_to_tensor_dtype(wants[0].dtype)
        graph = helper.make_graph(nodes, "g", [value("x", dtype, dims)], [value("y", out, None)])
        opsets = [helper.make_opsetid("", 17)] + ([helper.make_opsetid(domain, 1)] if domain else [])
        folder = os.path.join(self.root, name)
        os.makedirs(folder)
        with open(os.path.join(folder, "model.onnx"), "wb") as file:
            file.write(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
        for i, want in enumerate(wants):
            os.mkdir(os.path.join(folder, f"test_data_set_{i}"))
            for stem, array in (("input", x), ("output", want)):
                with open(os.path.join(folder, f"test_data_set_{i}", stem + "_0.pb"), "wb") as file:
                    file.write(numpy_helper.from_array(array).SerializeToString())

    def neg(self, name, x, *wants):
        self.case(name, [helper.make_node("Neg", ["x"], ["y"])], x, *wants)

    def usual(self):
        x = np.float32([1, -2, 3])
        self.neg("a/good", x, -x, -x)
        self.neg("a/second_set_differs", x, -x, np.float32([-1, 2, 3]))
        self.neg("b/other_shape", x, np.float32([[-1, 2, -3]]))
        self.neg("b/other_type", x, np.float64([-1, 2, -3]))
        self.case("b/unknown", [helper.make_node("Frobnicate", ["x"], ["y"], name="/frob", domain="com.none")], x, x,
                  domain="com.none")

    def test_verdicts(self):
        self.usual()
        out, err = tenon("test", self.root, status=1)
        self.assertEqual(err, "")
        lines = out.splitlines()
        self.assertEqual(lines[0], "PASS a/good")
        self.assertEqual(lines[1], "FAIL a/second_set_differs: output 'y' element 2 is -3, expected 3; 1 of 3 differ, "
                                   "largest error 6")
        self.assertEqual(lines[2], "FAIL b/other_shape: output 'y' is f32[3], expected f32[1,3]")
        self.assertTrue(lines[3].startswith("FAIL b/other_type: "), lines[3])
        self.assertTrue(lines[4].startswith("UNSUPPORTED b/unknown: node '/frob'"), lines[4])
        self.assertEqual(lines[5], "1 passed, 3 failed, 1 unsupported")
        for options in [("--jobs", 0), ("--jobs", 1), ("--jobs", 7)]:
            self.assertEqual(tenon("test", self.root, *options, status=1)[0], out)
        self.assertEqual(tenon("test", os.path.join(self.root, "a", "good"))[0], "PASS good\n1 passed, 0 failed, 0 unsupported\n")
        self.assertEqual(tenon("test", "--quiet", self.root, status=1)[0].splitlines(), lines[1:4] + lines[5:])

    def test_json(self):
        self.usual()
        result = json.loads(tenon("test", self.root, "--json", status=1)[0])
        self.assertEqual((result["passed"], result["failed"], result["unsupported"]), (1, 3, 1))
        self.assertEqual(result["cases"][0], {"name": "a/good", "result": "pass"})
        self.assertEqual(result["cases"][4]["result"], "unsupported")

    def test_tolerance(self):
        x = np.float32([1, 100])
        self.neg("near", x, np.float32([-1.0009, -100.09]))
        self.neg("far", x, np.float32([-1.002, -100]))
        self.assertIn("PASS near\n1 passed, 1 failed", tenon("test", self.root, status=1)[0])
        tenon("test", self.root, "--rtol", "0.01")
        self.assertIn("2 failed", tenon("test", self.root, "--rtol=1e-6", status=1)[0])
        self.assertIn("2 passed", tenon("test", self.root, "--rtol=0", "--atol=0.1")[0])

    def test_special_values(self):
        x = np.float32([np.nan, np.inf, -np.inf, 0])
        self.neg("special", x, -x)
        self.neg("sign", np.float32([np.inf]), np.float32([np.inf]))
        self.neg("nan", np.float32([np.nan]), np.float32([0]))
        self.assertIn("1 passed, 2 failed", tenon("test", self.root, status=1)[0])

    def test_integers_are_exact(self):
        self.neg("integers", np.int64([10**6]), np.int64([-10**6 - 1]))
        self.assertIn("element 0 is -1000000, expected -1000001", tenon("test", self.root, status=1)[0])

    def test_expected(self):
        self.usual()
        expected = os.path.join(self.root, "expected.txt")
        tenon("test", self.root, "--write-expect", expected, status=1)
        with open(expected) as file:
            rows = file.read()
        self.assertEqual(rows, "a/good pass\na/second_set_differs fail\nb/other_shape fail\nb/other_type fail\n"
                               "b/unknown unsupported\n")
        self.assertIn("0 unexpected\n1 passed, 3 failed", tenon("test", self.root, "--expect", expected)[0])
        tenon("test", os.path.join(self.root, "a", "good"), "--expect", expected)  # rows are found by the end of the path
        for change, text in [(("a/good pass", "a/good unsupported"), "UNEXPECTED a/good: unsupported expected\n"),
                             (("b/unknown unsupported", "b/unknown pass"), "UNEXPECTED b/unknown: pass expected\n"),
                             (("a/good pass\n", "# a comment\n"), "UNEXPECTED a/good: no row expected\n")]:
            with open(expected, "w") as file:
                file.write(rows.replace(*change))
            self.assertIn(text, tenon("test", self.root, "--expect", expected, status=1)[0])
        with open(expected, "w") as file:
            file.write("a/good pass\na/good maybe\n")
        self.assertIn("expected.txt:2: expected NAME and pass, fail or unsupported",
                      tenon("test", self.root, "--expect", expected, status=3)[1])

    def test_nothing_there(self):
        self.assertIn("no folder in it holds a model.onnx", tenon("test", self.root, status=3)[1])
        self.assertIn("not a folder", tenon("test", os.path.join(self.root, "none"), status=6)[1])

    def test_no_data(self):
        self.neg("bare", np.float32([1]), np.float32([-1]))
        os.remove(os.path.join(self.root, "bare/test_data_set_0/output_0.pb"))
        self.assertIn("FAIL bare: ", tenon("test", self.root, status=1)[0])
        os.remove(os.path.join(self.root, "bare/test_data_set_0/input_0.pb"))
        os.rmdir(os.path.join(self.root, "bare/test_data_set_0"))
        self.assertIn("FAIL bare: there is no test_data_set_0\n", tenon("test", self.root, status=1)[0])

    def slow(self):
        """A loop of 10^10 rounds."""
        body = helper.make_graph([helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Sin", ["s"], ["t"])], "body",
                                 [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []),
                                  value("s", TensorProto.FLOAT, ["n"])],
                                 [value("d", TensorProto.BOOL, []), value("t", TensorProto.FLOAT, ["n"])])
        count = helper.make_node("Constant", [], ["count"], value=helper.make_tensor("v", TensorProto.INT64, [], [10**10]))
        self.case("slow", [count, helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)], np.float32([1]),
                  np.float32([0]))

    def test_timeout(self):
        self.slow()
        self.neg("good", np.float32([1]), np.float32([-1]))
        out = tenon("test", self.root, "--timeout", "3", status=1)[0]
        self.assertEqual(out, "PASS good\nFAIL slow: did not end within 3 s\n1 passed, 1 failed, 0 unsupported\n")

    @unittest.skipUnless(os.path.exists(f"/proc/self/task/{os.getpid()}/children"), "the system does not list children")
    def test_crash(self):
        self.slow()
        with subprocess.Popen([TENON, "test", self.root], stdout=subprocess.PIPE, text=True) as run:
            children = f"/proc/{run.pid}/task/{run.pid}/children"
            end = time.time() + 30
            child = ""
            while not child and time.time() < end:
                time.sleep(0.05)
                with open(children) as file:
                    child = file.read().strip()
            time.sleep(0.3)
            os.kill(int(child), signal.SIGSEGV)
            out = run.communicate()[0]
        self.assertEqual(run.returncode, 1)
        self.assertRegex(out, r"^FAIL slow: crash: .*\n0 passed, 1 failed, 0 unsupported\n$")


if __name__ == "__main__":
    unittest.main()
