"""Wrong models, inputs and options: each ends in its exit status and a sentence that names the place."""
# needs: onnx
import os
import tempfile
import unittest

import onnx
from onnx import TensorProto, helper

from _cli import EXAMPLE, tenon, write_npy

os.environ.setdefault("ASAN_OPTIONS", "allocator_may_return_null=1")

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL


def value(name, dims=("N",), dtype=FLOAT):
    return helper.make_tensor_value_info(name, dtype, None if dims is None else list(dims))


def graph(nodes, inputs=(), outputs=(), initializers=()):
    return helper.make_graph(nodes, "g", list(inputs), list(outputs), list(initializers))


def model(nodes, inputs=("x",), outputs=("y",), initializers=(), opset=17):
    """Names stand for vectors of N floats, and for outputs of any shape."""
    inputs = [value(i) if isinstance(i, str) else i for i in inputs]
    outputs = [value(o, None) if isinstance(o, str) else o for o in outputs]
    return helper.make_model(graph(nodes, inputs, outputs, initializers), ir_version=8,
                             opset_imports=[helper.make_opsetid("", opset)])


def node(op, inputs, outputs=("y",), name="n", **attributes):
    return helper.make_node(op, list(inputs), list(outputs), name=name, **attributes)


def branches(then_nodes, else_nodes, result="o"):
    out = [value(result, None)]
    return {"then_branch": graph(then_nodes, outputs=out), "else_branch": graph(else_nodes, outputs=out)}


def weights(dims=(1,), dtype=FLOAT, raw=None, floats=None):
    t = TensorProto(name="w", data_type=dtype, dims=dims)
    if raw is not None:
        t.raw_data = raw
    if floats is not None:
        t.float_data.extend(floats)
    return t


def changed(m, change):
    change(m)
    return m


ADD = node("Add", ["x", "w"], name="sum")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def save(self, m):
        path = os.path.join(self.folder, "m.onnx")
        with open(path, "wb") as file:
            file.write(m.SerializeToString())
        return path

    def refused(self, m, status, text, *inputs, command="run"):
        """Ends in the status, says the text as an error, makes no output."""
        args = [arg for i in inputs for arg in ("--input", i)]
        out, err = tenon(command, self.save(m), *args, status=status)
        self.assertIn("tenon: error: ", err)
        self.assertIn(text, err)
        self.assertEqual(out, "")
        return err


class Files(Case):
    def test_no_model(self):
        with open(EXAMPLE, "rb") as file:
            whole = file.read()
        os.mkdir(os.path.join(self.folder, "d.onnx"))
        for name, data in [("empty", b""), ("text", b"hello, world"), ("zeros", bytes(1000)),
                           ("png", b"\x89PNG\r\n\x1a\n" + bytes(range(256)))]:
            with open(os.path.join(self.folder, name), "wb") as file:
                file.write(data)
        for command in ["run", "info", "infer", "dump"]:
            for name, status, text in [("none", 6, "none': No such file or directory"),
                                       ("d.onnx", 6, "d.onnx': it is a directory"),
                                       ("empty", 3, "not an ONNX model"), ("text", 3, "not an ONNX model"),
                                       ("zeros", 3, "not an ONNX model"), ("png", 3, "not an ONNX model")]:
                err = tenon(command, os.path.join(self.folder, name), status=status)[1]
                self.assertIn("tenon: error: ", err)
                self.assertIn(text, err)
        half = os.path.join(self.folder, "half")
        for length in [1, 17, len(whole) // 3, len(whole) // 2, len(whole) - 1]:
            with open(half, "wb") as file:
                file.write(whole[:length])
            err = tenon("run", half, status=3)[1]
            self.assertRegex(err, r"half: .*(cut short|not an ONNX model)")

    def test_no_graph(self):
        self.refused(changed(model([ADD]), lambda m: m.ClearField("graph")), 3, "not an ONNX model: it has no graph")


class Inputs(Case):
    TWO = model([ADD], [value("x", ["N", "S"]), value("w", ["N", "S"])])

    def test_inputs(self):
        for inputs, status, text in [
                (["x=zeros:2x3", "q=zeros"], 3, "the model has no input 'q'; its inputs are:\n  x  f32[N,S]\n  w  f32[N,S]\n"),
                (["x=zeros:2x3"], 3, "1 of 2 inputs are not given (--input NAME=random takes numbers between -1 and 1):\n"
                                     "  w  f32[N,S]\n"),
                (["x=zeros:2x3", "x=zeros"], 3, "input 'x' is given twice"),
                (["x=zeros:2", "w=zeros:2x3"], 5, "input 'x' has rank 1, expected 2 (f32[N,S])"),
                (["x=zeros:2x3", "w=zeros:2x4"], 5, "input 'w' dim 1 is 4, expected 3 (S=3)"),
                (["x=zeros:2x3", "w=zeros:3x3"], 5, "input 'w' dim 0 is 3, expected 2 (N=2)"),
                (["x=zeros:-2x3", "w=zeros"], 3, "input 'x': '-2x3' are no dims; expected the like of 2x3x64"),
                (["x=zeros:2x", "w=zeros"], 3, "input 'x': '2x' are no dims"),
                (["x=1.5.2", "w=zeros"], 3, "input 'x': '1.5.2' is no number"),
                (["x=zeros:999999x999999999", "w=zeros"], 7, "input 'x': no memory for 3999995996000004 bytes"),
                (["x=zeros:4294967296x4294967296", "w=zeros"], 8, "input 'x' is too large")]:
            self.refused(self.TWO, status, text, *inputs)

    def test_files(self):
        path = os.path.join(self.folder, "x.npy")
        for descr, shape, data, status, text in [
                ("<f8", (2, 3), bytes(48), 5, "input 'x' is f64, expected f32 (f32[N,S])"),
                ("<f4", (2, 3, 1), bytes(24), 5, "input 'x' has rank 3, expected 2 (f32[N,S])"),
                ("<f4", (2, 3), bytes(20), 3, "x.npy: "),
                ("<f4", (2, -3), bytes(24), 3, "x.npy: "),
                ("<f4", (2**62, 2**62), bytes(24), 8, "x.npy: "),
                ("|O", (2, 3), bytes(24), 4, "x.npy: ")]:
            write_npy(path, descr, shape, data)
            self.refused(self.TWO, status, text, "x=" + path, "w=zeros:2x3")
        with open(path, "wb") as file:
            file.write(b"\x93NUMPX")
        self.refused(self.TWO, 3, "x.npy: ", "x=" + path, "w=zeros:2x3")
        os.mkdir(os.path.join(self.folder, "d.npy"))
        self.refused(self.TWO, 6, "d.npy: cannot read: Is a directory", f"x={self.folder}/d.npy", "w=zeros:2x3")

    def test_numbers_out_of_range(self):
        m = model([node("Neg", ["x"])], [value("x", ["N"], INT64)])
        for text, said in [("9223372036854775808", "'9223372036854775808'"), ("[1,x]", "'x' is no integer"),
                           ("nan", "'nan' is no integer")]:
            self.refused(m, 3, said, "x=" + text)


class Options(Case):
    def test_options(self):
        path = self.save(Inputs.TWO)
        inputs = ["--input", "x=zeros", "--input", "w=zeros"]
        for options, status, text in [
                (["--dim", "N=-1"], 2, "--dim N=-1: expected NAME=SIZE"),
                (["--dim", "N=3x"], 2, "--dim N=3x: expected NAME=SIZE"),
                (["--dim", "N="], 2, "--dim N=: expected NAME=SIZE"),
                (["--dim", "N=99999999999999999999"], 2, "--dim N=99999999999999999999: expected NAME=SIZE"),
                (["--dim", "=3"], 3, "the model has no symbol ''"),
                (["--dim", "N=2,"], 2, "--dim : expected NAME=SIZE"),
                (["--dim", "N=2,N=3"], 3, "--dim gives 'N' as 2 and as 3"),
                (["--dim", "N=2", "--dim", "N=3"], 3, "--dim gives 'N' as 2 and as 3"),
                (["--threads", "-1"], 2, "--threads takes an integer of at least 0, not '-1'"),
                (["--threads", "99999999999999999999"], 2, "--threads takes an integer of at least 0, not '99999999999999999999'"),
                (["--threads", "100000"], 2, "--threads is at most 1024"),
                (["--repeat", "0x10"], 2, "--repeat takes an integer of at least 1"),
                (["--seed", "-1"], 2, "--seed takes an integer of at least 0, not '-1'"),
                (["--knob", "threads"], 3, "knob 'threads' has no value (name=value)"),
                (["--knob", "threads=x"], 3, "knob 'threads' (option): 'x' is not an integer"),
                (["--knob", "threads=-3"], 3, "knob 'threads' (option): -3 is negative"),
                (["--knob", "=1"], 3, "unknown knob ''")]:
            err = tenon("run", path, *inputs, *options, status=status)[1]
            self.assertIn("tenon: error: ", err)
            self.assertIn(text, err)

    def test_environment(self):
        path = self.save(Inputs.TWO)
        inputs = ["--input", "x=zeros", "--input", "w=zeros"]
        self.addCleanup(os.environ.pop, "TENON_THREADS", None)
        for text, said in [("abc", "'abc' is not an integer"), ("", "'' is not an integer"),
                           ("99999999999999999999", "'99999999999999999999' is not an integer"), ("-1", "-1 is negative")]:
            os.environ["TENON_THREADS"] = text
            err = tenon("run", path, *inputs, status=3)[1]
            self.assertIn(f"tenon: error: knob 'threads' (environment): {said}", err)


class Names(Case):
    def test_defined_twice(self):
        x_y = [node("Neg", ["x"], name="a"), node("Abs", ["x"], name="b")]
        for m, text in [(model(x_y), "node 'b' (Abs): value 'y' is defined twice: names must be unique"),
                        (model([ADD], ["x", "x"], initializers=[weights(floats=[1])]), "input 'x': value 'x' is defined twice"),
                        (model([node("Neg", ["x"], ["x"])], outputs=["x"]), "node 'n' (Neg): value 'x' is defined twice"),
                        (model([ADD], initializers=[weights(floats=[1]), weights(floats=[2])]),
                         "initializer 'w': value 'w' is defined twice"),
                        (model([node("Neg", ["x"], ["w"]), ADD], initializers=[weights(floats=[1])]),
                         "node 'n' (Neg): value 'w' is defined twice"),
                        (model([node("Split", ["x"], ["y", "y"])]), "node 'n' (Split): value 'y' is defined twice")]:
            self.refused(m, 3, text)

    def test_not_defined(self):
        self.refused(model([node("Neg", ["ghost"])]), 3,
                     "node 'n' (Neg): input 0, 'ghost', is not defined by any input, initializer or earlier node in sight")
        self.refused(model([node("Neg", ["x"], ["z"])]), 3, "output 'y': it is not defined by any input, initializer or node")

    def test_cycles(self):
        choose = node("If", ["c"], name="choose", **branches([node("Neg", ["late"], ["o"], "in")], [node("Neg", ["x"], ["o"])]))
        flag = value("c", [], BOOL)
        for m, text in [(model([node("Add", ["x", "b"], ["a"], "first"), node("Neg", ["a"], ["b"], "second")], outputs=["b"]),
                         "node 'first' (Add): the nodes form a cycle: Add 'first' #0, which needs Neg 'second' #1, "
                         "which needs the first"),
                        (model([node("Add", ["x", "y"], name="me")]), "node 'me' (Add): the nodes form a cycle"),
                        (model([choose, node("Abs", ["y"], ["late"], "after")], ["x", flag]),
                         "node 'choose' (If): the nodes form a cycle: If 'choose' #0, which needs Abs 'after' #1")]:
            self.refused(m, 3, text)

    def test_order_across_regions(self):
        flag = value("c", [], BOOL)
        late = [node("If", ["c"], name="choose", **branches([node("Neg", ["late"], ["o"])], [node("Neg", ["x"], ["o"])])),
                node("Abs", ["x"], ["late"], "after")]
        out, err = tenon("run", self.save(model(late, ["x", flag])), "--input", "x=[-2, 3]", "--input", "c=true")
        self.assertIn("nodes are not in the order of their uses; they were sorted", err)
        self.assertIn("[-2, -3]", out)
        sibling = branches([node("Neg", ["x"], ["a"]), node("Neg", ["a"], ["o"])], [node("Neg", ["a"], ["o"], "other")])
        self.refused(model([node("If", ["c"], **sibling)], ["x", flag]), 3,
                     "node 'other' (Neg): input 0, 'a', is not defined by any input, initializer or earlier node in sight")
        inside = branches([node("Neg", ["x"], ["o"])], [node("Abs", ["x"], ["o"])])
        self.refused(model([node("If", ["c"], ["z"], **inside), node("Neg", ["o"], name="outer")], ["x", flag]), 3,
                     "node 'outer' (Neg): input 0, 'o', is not defined")


class Nodes(Case):
    def test_attributes(self):
        for attributes, op, text in [({"axis": "zero"}, "Concat", "attribute 'axis' is a string, expected an int"),
                                     ({}, "Concat", "attribute 'axis' is required but absent"),
                                     ({"perm": 0}, "Transpose", "attribute 'perm' is an int, expected a list of ints"),
                                     ({"axis": 1.5}, "Softmax", "attribute 'axis' is a float, expected an int"),
                                     ({"bogus": 1}, "Neg", "attribute 'bogus' is not known to Neg")]:
            self.refused(model([node(op, ["x"], **attributes)]), 3, f"node 'n' ({op}): {text}")
        twice = model([node("Softmax", ["x"], axis=0)])
        twice.graph.node[0].attribute.append(helper.make_attribute("axis", 0))
        self.refused(twice, 3, "node 'n' (Softmax): attribute 'axis' is given twice")

    def test_absent_operands(self):
        for op in ["Concat", "Sum", "Max", "Einsum", "SequenceConstruct"]:
            attributes = {"Concat": {"axis": 0}, "Einsum": {"equation": "i,i,i->i"}}.get(op, {})
            self.refused(model([node(op, ["x", "", "x"], **attributes)]), 3, f"node 'n' ({op}): input 1 (")
        self.refused(model([node("Add", ["x"])]), 3, "node 'n' (Add): 1 inputs are too few: input 1 (b) is required")

    def test_types_differ(self):
        self.refused(model([ADD], ["x", value("w", ["N"], INT64)]), 5,
                     "node 'sum' (Add): inputs 0 (a) and 1 (b) differ in element type: f32 and i64")
        self.refused(model([node("Neg", ["x"])], [value("x", ["N"], 77)]), 3, "input 'x': element type 77 is none of ONNX's")
        self.refused(model([node("Neg", ["x"])], [value("x", ["N"], 0)]), 3, "input 'x': the model does not say its type")
        for wrap in (helper.make_optional_type_proto, helper.make_sequence_type_proto):
            x = helper.make_value_info("x", wrap(helper.make_tensor_type_proto(0, ["N"])))
            self.refused(model([node("Identity", ["x"])], [x]), 3, "input 'x': the model does not say its type")

    def test_unsupported_at_once(self):
        inner = branches([node("Baz", ["b"], ["o"], "three")], [node("Neg", ["b"], ["o"])])
        m = model([node("Foo", ["x"], ["a"], "one"), node("Neg", ["a"], ["b"], "fine"), node("Bar", ["b"], ["d"], "two"),
                   node("If", ["c"], name="choose", **inner)], ["x", value("c", [], BOOL)])
        err = self.refused(m, 4, "node 'one' (Foo): operator is not supported (ai.onnx, opset 17)")
        self.assertIn("node 'two' (Bar): operator is not supported", err)
        self.assertIn("node 'three' (Baz): operator is not supported", err)
        self.assertEqual(err.count("error:"), 3)

    def test_opsets(self):
        neg = [node("Neg", ["x"])]
        for m, status, text in [(model(neg, opset=0), 3, "unknown opset: version 0 of domain ''"),
                                (model(neg, opset=-5), 3, "unknown opset: version -5 of domain ''"),
                                (changed(model(neg), lambda m: m.ClearField("opset_import")), 3,
                                 "unknown opset: the model imports none"),
                                (changed(model(neg), lambda m: m.opset_import.append(helper.make_opsetid("ai.onnx", 11))), 3,
                                 "the model imports two opsets of domain ''"),
                                (model([node("Foo", ["x"], domain="my.ops")]), 4, "node 'n' (Foo): domain 'my.ops' is not known")]:
            self.refused(m, status, text)

    def test_newer_than_known(self):
        m = model([node("Neg", ["x"])], opset=999)
        m.ir_version = 99
        out, err = tenon("run", self.save(m), "--input", "x=[1.5]")
        self.assertRegex(err, r"warning: .*opset 999 is newer than \d+, the newest known: operators keep their meaning of \d+")
        self.assertRegex(err, r"warning: .*IR version 99 is newer than \d+, the newest known")
        self.assertIn("[-1.5]", out)


class Sizes(Case):
    def test_dims_of_inputs(self):
        out, err = tenon("run", self.save(model([node("Neg", ["x"])], [value("x", [-3, 2])])), "--input", "x=[[1, 2]]")
        self.assertIn("warning: ", err)
        self.assertIn("input 'x': dim 0 is negative (-3): taken as unknown", err)
        self.assertIn("[-1, -2]", out)
        self.refused(model([node("Neg", ["x"])], [value("x", [2**62, 4])]), 8, "input 'x' is too large", "x=zeros")

    def test_initializers(self):
        for w, text in [(weights([2, 3], raw=bytes(20)), "data is shorter than the shape: it has 20 bytes of data, its shape [2,3] "
                                                         "of f32 needs 24"),
                        (weights([4], floats=[1]), "data is shorter than the shape: it has 1 numbers"),
                        (weights([1]), "data is shorter than the shape: it has 0 numbers"),
                        (weights([1], raw=bytes(20)), "data is longer than the shape: it has 20 bytes"),
                        (weights([-1], raw=bytes(4)), "dim 0 is negative: -1"),
                        (weights([2**62, 8], raw=bytes(4)), "shape [4611686018427387904,8] has more elements than can be counted")]:
            self.refused(model([ADD], initializers=[w]), 3, "initializer 'w': " + text)

    def test_sizes_that_the_run_tells(self):
        """A tensor of the run is a size: refused with a sentence, never taken for granted."""
        big, sizes = 2**62, [value("s", [1], INT64)]
        rows = [  # node, its other inputs, what s is, exit statuses, text
            (node("ConstantOfShape", ["s"]), [], -1, 5, "node 'n' (ConstantOfShape)"),
            (node("ConstantOfShape", ["s"]), [], 2**63 - 1, 8, "value 'y' is too large"),
            (node("ConstantOfShape", ["s"]), [], 2**50, 7, "the largest is of value 'y', 4503599627370496 bytes"),
            (node("Expand", ["x", "s"]), ["x"], -4, 5, "node 'n' (Expand)"),
            (node("Expand", ["x", "s"]), ["x"], big, 5, "node 'n' (Expand): cannot broadcast dim 0"),
            (node("Tile", ["x", "s"]), ["x"], -1, 5, "node 'n' (Tile)"),
            (node("Tile", ["x", "s"]), ["x"], big, 8, "value 'y': a size is beyond 64 bits"),
            (node("Reshape", ["x", "s"]), ["x"], big, 5, "node 'n' (Reshape)"),
            (node("Reshape", ["x", "s"]), ["x"], -7, 5, "node 'n' (Reshape)")]
        for n, others, size, status, text in rows:
            with self.subTest(op=n.op_type, size=size):
                self.refused(model([n], others + sizes), status, text, *["x=zeros:3" for _ in others], f"s=[{size}]")

    def test_declared_shapes(self):
        """A declared shape serves where nothing else is known; that it is wrong is the model's fault."""
        for op in ["Neg", "Softmax", "Transpose"]:
            m = model([node(op, ["x"])], [value("x", None)], [value("y", [4, 3])])
            self.refused(m, 5, f"node 'n' ({op}): output 0 has rank 3, but the model declares 2", "x=zeros:4x3x1")
            self.refused(m, 5, f"node 'n' ({op}): output 0 dim ", "x=zeros:4x5")

    def test_scales_that_do_not_cover(self):
        """Quantisation by blocks, of nothing and of too few; folded and run."""
        x, s = value("x", ["A", "B"]), value("s", ["C", "D"])
        run = model([node("QuantizeLinear", ["x", "s"], axis=0)], [x, s], opset=21)
        self.assertIn("y  u8[0,3]  empty", tenon("run", self.save(run), "--input", "x=zeros:0x3", "--input", "s=zeros:2x3")[0])
        few = node("QuantizeLinear", ["x", "s"], axis=0, block_size=2)
        text = "C blocks of 2 for dim 0, which is A (A=5, C=1)"
        self.refused(model([few], [x, s], opset=21), 5, text, "x=zeros:5x3", "s=zeros:1x3")
        ones = [helper.make_tensor(name, FLOAT, dims, [1] * (3 * dims[0])) for name, dims in [("x", [5, 3]), ("s", [1, 3])]]
        self.refused(model([few], [], initializers=ones, opset=21), 5, "1 blocks of 2 for dim 0, which is 5")

    def test_huge_whole_scale(self):
        scales = helper.make_tensor("s", FLOAT, [1], [2.0**40])
        m = model([node("Resize", ["x", "", "s"], mode="nearest")], [value("x", ["N"])], initializers=[scales])
        self.refused(m, 8, "value 'y' is too large", "x=zeros:4194304")

    def test_ranks_come_before_dims(self):
        self.refused(model([node("RoiAlign", ["x", "r", "b"])], [value("x", "abcd"), value("r", []), value("b", ["M"], INT64)]),
                     5, "node 'n' (RoiAlign): input 1 (rois) has rank 0, expected 2")

    def test_one_element_where_one_is_wanted(self):
        """Bounds, limits and lengths that are empty or many."""
        for m, inputs in [(model([node("Clip", ["x", "w"])]), ["x", "w"]),
                          (model([node("Clip", ["x", "", "w"])]), ["x", "w"]),
                          (model([node("Range", ["w", "x", "x"])]), ["x", "w"]),
                          (model([node("HannWindow", ["w"])]), ["w"])]:
            dtype = INT64 if m.graph.node[0].op_type == "HannWindow" else FLOAT
            for dims in [["M"], None]:
                del m.graph.input[:]
                m.graph.input.extend(value(name, dims if name == "w" else [1], dtype) for name in inputs)
                for count in [0, 2]:
                    with self.subTest(op=m.graph.node[0].op_type, dims=dims, count=count):
                        self.refused(m, 5, "elements", f"w=zeros:{count}", *["x=1" for name in inputs if name == "x"])


if __name__ == "__main__":
    unittest.main()
