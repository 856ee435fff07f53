"""What the command line prints, where, and its exit statuses. Needs nothing but the example model."""
import json
import os
import re
import struct
import tempfile
import unittest

from _cli import EXAMPLE, read_npy, tenon, write_npy

COMMANDS = ["run", "compile", "info", "infer", "contract", "why", "cost", "split", "test", "ops", "knobs", "dump",
            "opt"]
IMAGE, TOKENS = "image=random:1x3x32x32", "tokens=random:1x4"
INPUTS = ["--input", IMAGE, "--input", TOKENS]


class Frame(unittest.TestCase):
    def test_help_lists_every_command(self):
        out, err = tenon("--help")
        self.assertEqual(err, "")
        for command in COMMANDS:
            self.assertRegex(out, rf"(?m)^  {command} +\S")
        self.assertEqual(tenon("help")[0], out)
        self.assertEqual(tenon(status=2), ("", out))

    def test_every_command_has_help(self):
        for command in COMMANDS:
            out, err = tenon(command, "--help")
            self.assertTrue(out.startswith(f"usage: tenon {command} [options]"), out)
            self.assertIn("--help", out)
            self.assertEqual(err, "")
            self.assertEqual(tenon("help", command)[0], out)

    def test_version(self):
        self.assertRegex(tenon("--version")[0], r"^tenon \d+\.\d+\.\d+\n$")

    def test_wrong_use(self):
        for args, text in [(["walk"], "unknown command 'walk'"),
                           (["run"], "MODEL expected"),
                           (["run", EXAMPLE, "more"], "unexpected argument 'more'"),
                           (["run", EXAMPLE, "--bogus"], "unknown option '--bogus'"),
                           (["run", EXAMPLE, "--input"], "--input needs a value"),
                           (["run", EXAMPLE, "--json=1"], "--json takes no value"),
                           (["run", EXAMPLE, "--repeat", "0"], "--repeat takes an integer of at least 1, not '0'"),
                           (["run", EXAMPLE, "--threads", "x"], "--threads takes an integer of at least 0, not 'x'"),
                           (["run", EXAMPLE, "--compare", "me"], "--compare takes 'oracle'"),
                           (["run", EXAMPLE, "--input", "image"], "--input image: expected NAME=FILE.npy"),
                           (["run", EXAMPLE, "--dim", "batch"], "--dim batch: expected NAME=SIZE"),
                           (["compile", EXAMPLE], "-o OUT.tnp is missing"),
                           (["test"], "DIR... expected"),
                           (["test", "--rtol", "-1", "."], "--rtol takes a number of at least 0, not '-1'"),
                           (["opt"], "FILE expected")]:
            out, err = tenon(*args, status=2)
            self.assertIn(f"tenon: error: {text}", err)
            self.assertEqual(out, "")


class Run(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.TemporaryDirectory()
        self.addCleanup(self.dir.cleanup)

    def path(self, name):
        return os.path.join(self.dir.name, name)

    def test_one_line_per_output(self):
        out, err = tenon("run", EXAMPLE, *INPUTS)
        self.assertEqual(err, "")
        lines = out.splitlines()
        self.assertEqual(len(lines), 3)
        for line, name in zip(lines, ["scores  f32[1,10]", "states  f32[1,4,32]", "mask    f32[1,1,32,32]"]):
            self.assertRegex(line, "^" + re.escape(name) + r"  min \S+  mean \S+  max \S+$")

    def test_random_depends_on_seed_and_name_only(self):
        first = tenon("run", EXAMPLE, *INPUTS)[0]
        self.assertEqual(tenon("run", EXAMPLE, "--input", TOKENS, "--input", IMAGE, "--seed", "0")[0], first)
        self.assertNotEqual(tenon("run", EXAMPLE, *INPUTS, "--seed=1")[0], first)

    def test_dims_come_from_options_and_other_inputs(self):
        out, err = tenon("run", EXAMPLE, "--input", "image=random:2x3x32x40", "--input", "tokens=zeros", "--dim", "length=5")
        self.assertEqual(err, "")
        self.assertIn("states  f32[2,5,32]", out)
        out, err = tenon("run", EXAMPLE, "--input", "image=random", "--input", "tokens=zeros", "--dim",
                         "batch=2,height=32", "--dim", "width=40,length=5")
        self.assertEqual(err, "")
        self.assertIn("states  f32[2,5,32]", out)
        out, err = tenon("run", EXAMPLE, "--input", "image=random:2x3x32x40", "--input", "tokens=3")
        self.assertIn("tenon: note: dim 1 of input 'tokens' (i64[batch,length]): length is taken as 1; "
                      "--dim length=SIZE sets it", err)
        self.assertIn("states  f32[2,1,32]", out)
        self.assertIn("f32[2,3,32]", tenon("run", EXAMPLE, "--input", "image=random:2x3x8x8", "--input",
                                           "tokens=[1,2,3,4,5,6]")[0])
        self.assertIn("f32[1,2,32]", tenon("run", EXAMPLE, "--input", "image=zeros:1x3x8x8", "--input", "tokens=[[7, 8]]")[0])

    def test_wrong_inputs(self):
        both = ":\n  image  f32[batch,3,height,width]\n  tokens  i64[batch,length]\n"
        rows = [
            ([], 3, "2 of 2 inputs are not given (--input NAME=random takes numbers between -1 and 1)" + both),
            (["image=random"], 3, "1 of 2 inputs are not given (--input NAME=random takes numbers between -1 and 1):\n"
                                  "  tokens  i64[batch,length]\n"),
            (["x=random"], 3, "the model has no input 'x'; its inputs are" + both),
            (["image=random", "image=zeros"], 3, "input 'image' is given twice\n"),
            (["image=random:3x4", TOKENS], 5, "input 'image' has rank 2, expected 4 (f32[batch,3,height,width])\n"),
            (["image=random:1x4x8x8", TOKENS], 5, "input 'image' dim 1 is 4, expected 3"),
            (["image=random:2x3x8x8", TOKENS], 5, "input 'tokens' dim 0 is 1, expected 2 (batch=2)\n"),
            (["image=random:1x3xh", TOKENS], 3, "input 'image': '1x3xh' are no dims; expected the like of 2x3x64\n"),
            (["image=random:1x3x99999999999x99999999999", TOKENS], 8, "input 'image' is too large\n"),
            (["image=random:1x3x8x8", "tokens=1.5"], 3, "input 'tokens': '1.5' is no integer\n"),
            (["image=random:1x3x8x8", "tokens=[1, 2"], 3, "input 'tokens': '[1, 2': a ']' is missing"),
            (["image=random:1x3x8x8", "tokens=[[1], [2, 3]]"], 3, "the lists differ in length"),
            (["image=random:2x3x8x8", "tokens=[1,2,3]"], 5, "input 'tokens' (i64[batch,length]) takes 2 numbers here, not 3"),
            (["image=there_is_none.npy", TOKENS], 6, "input 'image': there_is_none.npy: cannot open: No such file"),
            (["image=random:1x3x8x8", "tokens=random:1x65"], 5, "cannot broadcast"),
            (["image=random:1x3x8x8", "tokens=[500]"], 5, "node '/Gather_1' (Gather): index 500"),
        ]
        for inputs, status, text in rows:
            args = [arg for text_of in inputs for arg in ("--input", text_of)]
            out, err = tenon("run", EXAMPLE, *args, status=status)
            self.assertIn("tenon: error: ", err)
            self.assertIn(text, err)
            self.assertEqual(out, "")
        err = tenon("run", EXAMPLE, "--dim", "depth=2", *INPUTS, status=3)[1]
        self.assertIn("the model has no symbol 'depth'; it has: batch, height, width, length", err)

    def test_wrong_models(self):
        with open(self.path("text.onnx"), "w") as file:
            file.write("hello")
        with open(EXAMPLE, "rb") as file:
            half = file.read()[:30000]
        with open(self.path("half.onnx"), "wb") as file:
            file.write(half)
        for name, status, text in [("none.onnx", 6, "No such file"), ("", 6, "it is a directory"),
                                   ("text.onnx", 3, "not an ONNX model"), ("half.onnx", 3, "")]:
            for command in ["run", "info", "infer", "dump"]:
                err = tenon(command, self.path(name), status=status)[1]
                self.assertRegex(err, r"^tenon: error: ")
                self.assertIn(text, err)

    def test_files_of_numpy(self):
        ids = [5, 6, 7, 8, 9, 10]  # 2 rows of 3
        columns = [5, 8, 6, 9, 7, 10]
        write_npy(self.path("rows.npy"), "<i8", (2, 3), struct.pack("<6q", *ids))
        write_npy(self.path("big.npy"), ">i8", (2, 3), struct.pack(">6q", *ids), version=2)
        write_npy(self.path("columns.npy"), "<i8", (2, 3), struct.pack("<6q", *columns), fortran=True, version=3)
        write_npy(self.path("i4.npy"), "<i4", (2, 3), struct.pack("<6i", *ids))
        image = ["--input", "image=random:2x3x8x8"]
        want = tenon("run", EXAMPLE, *image, "--input", "tokens=[[5,6,7],[8,9,10]]")
        for name in ["rows", "big", "columns"]:
            self.assertEqual(tenon("run", EXAMPLE, *image, "--input", "tokens=" + self.path(name + ".npy")), want)
        err = tenon("run", EXAMPLE, *image, "--input", "tokens=" + self.path("i4.npy"), status=5)[1]
        self.assertIn("input 'tokens' is i32, expected i64", err)

    def test_output_folder(self):
        out = tenon("run", EXAMPLE, *INPUTS, "--output", self.path("out"))[0]
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["mask.npy", "scores.npy", "states.npy"])
        descr, shape, data = read_npy(self.path("out/scores.npy"))
        self.assertEqual((descr, shape, len(data)), ("<f4", (1, 10), 40))
        scores = struct.unpack("<10f", data)
        self.assertAlmostEqual(sum(scores), 1, places=5)
        self.assertIn(f"max {max(scores):.6g}", out)
        tenon("run", EXAMPLE, *INPUTS, "--output", self.path("out"))  # again into the same folder
        with open(self.path("file"), "w"):
            pass
        err = tenon("run", EXAMPLE, *INPUTS, "--output", self.path("file"), status=6)[1]
        self.assertIn("cannot make the folder: a file has its name", err)

    def test_json(self):
        result = json.loads(tenon("run", EXAMPLE, *INPUTS, "--json")[0])
        self.assertEqual(result["symbols"], {"batch": 1, "height": 32, "width": 32, "length": 4})
        self.assertEqual([o["name"] for o in result["outputs"]], ["scores", "states", "mask"])
        self.assertEqual(result["outputs"][1]["shape"], [1, 4, 32])
        self.assertEqual(result["outputs"][1]["dtype"], "f32")
        self.assertNotIn("time_ns", result)
        self.assertGreaterEqual(result["memory"]["planned_bytes"], result["memory"]["live_bytes"])
        result = json.loads(tenon("run", EXAMPLE, *INPUTS, "--json", "--repeat", 3, "--profile")[0])
        self.assertEqual(result["time_ns"]["runs"], 3)
        self.assertLessEqual(result["time_ns"]["min"], result["time_ns"]["median"])
        self.assertTrue(all(row["calls"] % 3 == 0 for row in result["profile"]))

    def test_repeat_profile_compare(self):
        self.assertRegex(tenon("run", EXAMPLE, *INPUTS, "--repeat=3")[0],
                         r"3 runs: median [\d.]+ ms, min [\d.]+ ms, first [\d.]+ ms\n$")
        out = tenon("run", EXAMPLE, *INPUTS, "--profile")[0]
        self.assertRegex(out, r"(?m)^ +ms +% +calls +kernel +node$")
        self.assertRegex(out, r"conv +node '/Conv_1' \(Conv\)")
        self.assertRegex(tenon("run", EXAMPLE, *INPUTS, "--compare=oracle")[0],
                         r"oracle: \d\d steps compared, 0 differ, largest error \S+\n$")

    def test_compare_names_the_first_step_that_differs(self):
        """float32 loses the 1 beside 1e8, double precision does not; what follows is compared with what it was given."""
        model = self.path("sum.tn")
        with open(model, "w") as f:
            f.write("""tenon 1

graph @main(%x: f32[N]) -> (%z: ?) {
  %s = reduce_sum(%x) {keepdims = 0, noop_with_empty_axes = 0} : ? at "total"
  %z = neg(%s) : ? at "turned"
}
""")
        out, err = tenon("run", model, "--input", "x=[1e8, 1, -1e8]", "--compare=oracle", status=1)
        self.assertIn("oracle: 2 steps compared, 1 differ, largest error 1\n", out)
        self.assertRegex(err, r"node 'total' \(\w+\): element 0 is 0, oracle 1\n")
        self.assertIn("0 differ", tenon("run", model, "--input", "x=[4, 2, 1]", "--compare=oracle")[0])

    def test_program_file_gives_the_same(self):
        program = self.path("dynamic.tnp")
        out = tenon("compile", EXAMPLE, "-o", program)[0]
        self.assertEqual(out, f"{program}: {os.path.getsize(program)} bytes\n")
        self.assertIn("No such file or directory", tenon("compile", EXAMPLE, "-o", self.path("none/x.tnp"), status=6)[1])
        for inputs in [INPUTS, ["--input", "image=random:3x3x17x9", "--input", "tokens=random:3x64"]]:
            self.assertEqual(tenon("run", program, *inputs), tenon("run", EXAMPLE, *inputs))
        for option in [["--assume", "batch == 1"], ["--input-shape", "image:1,3,32,32"], ["--gear-miss", "pad"]]:
            for command in [["run", program, *INPUTS], ["compile", program, "-o", self.path("again.tnp")]]:
                self.assertIn("a compiled program takes no facts, shapes or gears", tenon(*command, *option, status=3)[1])

    def test_full_device(self):
        if os.path.exists("/dev/full"):
            err = tenon("info", EXAMPLE, "--json", status=0)[1]
            self.assertEqual(err, "")
            err = tenon("dump", EXAMPLE, "-o", "/dev/full", status=6)[1]
            self.assertIn("tenon: error: /dev/full: cannot write: No space left on device", err)


class Tools(unittest.TestCase):
    def test_info(self):
        self.assertRegex(tenon("info", EXAMPLE)[0], r"(?m)^opset +ai\.onnx 17$")
        self.assertEqual(json.loads(tenon("info", EXAMPLE, "--json")[0])["ir_version"], 8)

    def test_info_lists_inputs_and_outputs(self):
        out = tenon("info", EXAMPLE)[0]
        for line in ["input        image: f32[batch,3,height,width]", "input        tokens: i64[batch,length]",
                     "output       scores: f32[batch,10]", "output       mask: f32[batch,1,?,?]"]:
            self.assertIn(line + "\n", out)
        read = json.loads(tenon("info", "--json", EXAMPLE)[0])
        self.assertEqual(read["inputs"], {"image": "f32[batch,3,height,width]", "tokens": "i64[batch,length]"})
        self.assertEqual(list(read["outputs"]), ["scores", "states", "mask"])

    def test_cost_tells_long_formulas_by_kind(self):
        dims = ["--dim", "batch=1,height=64", "--dim", "width=64,length=8"]
        short, long = tenon("cost", EXAMPLE, *dims)[0], tenon("cost", "--long", EXAMPLE, *dims)[0]
        whole = json.loads(tenon("cost", "--json", EXAMPLE, *dims)[0])["live_bytes"]
        line = re.search(r"(?m)^largest live bytes: max of (\d+) sums \(--long\) = (\d+)$", short)
        self.assertEqual(int(line.group(2)), whole["value"])
        self.assertIn(f"largest live bytes: {whole['formula']} = {whole['value']}\n", long)
        self.assertLess(max(map(len, short.splitlines())), 1000)

    def test_messages_name_the_option(self):
        for args, text in [(["cost", EXAMPLE, "--vary", "Q", "--max-memory", "1GiB"], "option '--vary'"),
                           (["cost", EXAMPLE, "--dim", "Q=1"], "option '--dim'"),
                           (["split", EXAMPLE, "--stages", "2"], "option '--stages'"),
                           (["split", EXAMPLE, "--mode", "x"], "option '--mode'"),
                           (["split", EXAMPLE, "--force-dynamic", "x"], "option '--force-dynamic'"),
                           (["split", EXAMPLE, "--exclude-engine", "x"], "option '--exclude-engine'"),
                           (["infer", EXAMPLE, "--assume", "batch < 0"], "option '--assume'")]:
            self.assertIn(f"tenon: error: {EXAMPLE}: {text}: ", tenon(*args, status=3)[1])

    def test_options_of_infer_that_need_others(self):
        for args, text in [(["--runs", "3"], "--check"), (["--seed", "3"], "--check"), (["--elements"], "--json"),
                           (["--check", "--elements"], "--check takes neither"), (["--check", "-o", "x.onnx"], "--check takes neither")]:
            self.assertIn(text, tenon("infer", EXAMPLE, *args, status=2)[1])

    def test_infer(self):
        self.assertIn("tokens: i64[batch,length]", tenon("infer", EXAMPLE)[0])
        values = json.loads(tenon("infer", EXAMPLE, "--json")[0])["values"]
        self.assertEqual(values["mask"], {"dtype": "float32", "shape": ["batch", 1, "2*((height + 1)//2)",
                                                                        "2*((width + 1)//2)"]})
        with tempfile.TemporaryDirectory() as folder:
            written = os.path.join(folder, "out.onnx")
            tenon("infer", EXAMPLE, "-o", written)
            self.assertGreater(os.path.getsize(written), os.path.getsize(EXAMPLE))
            self.assertEqual(tenon("run", written, *INPUTS), tenon("run", EXAMPLE, *INPUTS))

    def test_ops_and_knobs(self):
        self.assertRegex(tenon("ops")[0], r"(?m)^ai\.onnx +Abs ")
        self.assertIn("|", tenon("ops", "--markdown")[0])
        self.assertTrue(json.loads(tenon("ops", "--json")[0]))
        self.assertRegex(tenon("knobs")[0], r"(?m)^threads +int +0 +default ")
        self.assertTrue(json.loads(tenon("knobs", "--json")[0]))
        self.assertRegex(tenon("run", EXAMPLE, *INPUTS, "--knob", "no_such=1", status=3)[1], "^tenon: error: .*no_such")

    def test_dump_and_opt(self):
        text = tenon("dump", EXAMPLE, "--stop-after", "infer")[0]
        self.assertTrue(text.startswith("tenon 1\n"))
        self.assertTrue(tenon("dump", EXAMPLE, "--program")[0].startswith("program "))
        self.assertIn("infer", tenon("opt", "--list-passes")[0].split())
        with tempfile.TemporaryDirectory() as folder:
            tenon("opt", EXAMPLE, "--pass", "infer", "-o", os.path.join(folder, "a.tn"), "--dump-dir", folder)
            self.assertTrue([name for name in os.listdir(folder) if name.endswith("infer.tn")])


if __name__ == "__main__":
    unittest.main()
