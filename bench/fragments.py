#!/usr/bin/env python3
"""Writes small models with the right formulas of their results' shapes, worked by hand, as bench/score.py reads them.

    bench/fragments.py FOLDER             FOLDER/onnx/NAME.onnx and FOLDER/cases.json
    bench/fragments.py FOLDER --check     and runs each in ONNX Runtime: the shapes must be those of the formulas"""
# needs: numpy onnx
import json
import os
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

import _fragments

ODD = ({"N": 1}, {"N": 2}, {"N": 7}, {"N": 24})
IMAGE = ({"N": 1, "H": 8, "W": 8}, {"N": 2, "H": 9, "W": 7}, {"N": 1, "H": 33, "W": 64})
TEXT = ({"B": 1, "S": 1}, {"B": 2, "S": 7}, {"B": 3, "S": 16})

# name, inputs, nodes, right shapes, sizes. Results are float unless their name begins with i.
FRAGMENTS = [
    ("add_equal_names", "float[N,4] x, float[N,4] z", "y = Add (x, z)", {"y": ["N", 4]}, ODD),
    ("add_two_names", "float[N] x, float[M] z", "y = Add (x, z)", {"y": ["bcast(N, M)"]},
     ({"N": 1, "M": 5}, {"N": 5, "M": 1}, {"N": 4, "M": 4})),
    ("add_name_and_constant", "float[N,5] x, float[M,5] z", "k = Constant <value = float[5] {1,2,3,4,5}> ()\n"
     "p = Add (x, k)\ny = Concat <axis = 0> (p, z)", {"y": ["N + M", 5]}, ({"N": 1, "M": 5}, {"N": 0, "M": 2})),
    ("concat_itself", "float[N,3] x", "y = Concat <axis = 0> (x, x)", {"y": ["2*N", 3]}, ODD),
    ("slice_clamps", "float[N] x", "b = Constant <value_ints = [2]> ()\ne = Constant <value_ints = [6]> ()\n"
     "y = Slice (x, b, e)", {"y": ["max(0, min(N, 6) - min(N, 2))"]}, ODD),
    ("slice_last", "float[N] x", "b = Constant <value_ints = [-3]> ()\n"
     "e = Constant <value_ints = [9223372036854775807]> ()\ny = Slice (x, b, e)", {"y": ["min(N, 3)"]}, ODD),
    ("slice_step", "float[N] x", "b = Constant <value_ints = [0]> ()\n"
     "e = Constant <value_ints = [9223372036854775807]> ()\na = Constant <value_ints = [0]> ()\n"
     "s = Constant <value_ints = [2]> ()\ny = Slice (x, b, e, a, s)", {"y": ["(N + 1)//2"]}, ODD),
    ("slice_backwards", "float[N] x", "b = Constant <value_ints = [-1]> ()\n"
     "e = Constant <value_ints = [-9223372036854775807]> ()\na = Constant <value_ints = [0]> ()\n"
     "s = Constant <value_ints = [-3]> ()\ny = Slice (x, b, e, a, s)", {"y": ["(N + 2)//3"]}, ODD),
    ("patches", "float[N,4] x", "b = Constant <value_ints = [0]> ()\ne = Constant <value_ints = [-1]> ()\n"
     "p = Slice (x, b, e)\nb1 = Constant <value_ints = [1]> ()\n"
     "m = Constant <value_ints = [9223372036854775807]> ()\nq = Slice (x, b1, m)\ny = Sub (q, p)",
     {"y": ["max(0, N - 1)", 4]}, ODD),
    ("split_uneven", "float[N] x", "y, z = Split <num_outputs = 2> (x)", {"y": ["(N + 1)//2"], "z": ["N//2"]}, ODD[1:]),
    ("reshape_heads", "float[B,S,768] x", "s = Constant <value_ints = [0, 0, 12, -1]> ()\nr = Reshape (x, s)\n"
     "y = Transpose <perm = [0, 2, 1, 3]> (r)", {"y": ["B", 12, "S", 64]}, TEXT),
    ("reshape_by_shape", "float[B,S,768] x", "n = Shape <start = 0, end = 2> (x)\n"
     "k = Constant <value_ints = [12, 64]> ()\nt = Concat <axis = 0> (n, k)\ny = Reshape (x, t)",
     {"y": ["B", "S", 12, 64]}, TEXT),
    ("reshape_flat", "float[B,S,6] x", "s = Constant <value_ints = [-1, 6]> ()\ny = Reshape (x, s)",
     {"y": ["B*S", 6]}, TEXT),
    ("reshape_halves", "float[N,4] x", "s = Constant <value_ints = [-1, 8]> ()\nd = Concat <axis = 1> (x, x)\n"
     "y = Reshape (d, s)", {"y": ["N", 8]}, ODD),
    ("flatten", "float[B,S,5] x", "y = Flatten <axis = 2> (x)", {"y": ["B*S", 5]}, TEXT),
    ("squeeze_shape", "float[B,S,1] x", "a = Constant <value_ints = [2]> ()\ny = Squeeze (x, a)", {"y": ["B", "S"]}, TEXT),
    ("expand_to_shape", "float[1,4] x, float[N,4] z", "n = Shape (z)\ny = Expand (x, n)", {"y": ["N", 4]}, ODD),
    ("tile", "float[N] x", "r = Constant <value_ints = [3]> ()\ny = Tile (x, r)", {"y": ["3*N"]}, ODD),
    ("pad", "float[N] x", "p = Constant <value_ints = [2, 1]> ()\ny = Pad (x, p)", {"y": ["N + 3"]}, ODD),
    ("range_of_size", "float[N] x", "n = Shape (x)\na = Constant <value_int = 0> ()\n"
     "d = Constant <value_int = 1> ()\nz = Constant <value_ints = [0]> ()\ns = Squeeze (n, z)\niy = Range (a, s, d)",
     {"iy": ["N"]}, ODD),
    ("range_by_three", "float[N] x", "n = Size (x)\na = Constant <value_int = 1> ()\nd = Constant <value_int = 3> ()\n"
     "iy = Range (a, n, d)", {"iy": ["max(0, ceildiv(N - 1, 3))"]}, ODD),
    ("constant_of_half", "float[N] x", "n = Shape (x)\nk = Constant <value_ints = [2]> ()\nh = Div (n, k)\n"
     "y = ConstantOfShape (h)", {"y": ["N//2"]}, ODD),
    ("ceil_of_float", "float[N] x", "n = Shape (x)\nf = Cast <to = 1> (n)\nk = Constant <value_floats = [8.0]> ()\n"
     "q = Div (f, k)\nc = Ceil (q)\ni = Cast <to = 7> (c)\ny = ConstantOfShape (i)", {"y": ["(N + 7)//8"]}, ODD),
    ("scale_of_float", "float[N] x", "n = Shape (x)\nf = Cast <to = 1> (n)\nk = Constant <value_floats = [0.7]> ()\n"
     "q = Mul (f, k)\ni = Cast <to = 7> (q)\ny = ConstantOfShape (i)", {"y": ["f32scale(N, 0.7)"]},
     ({"N": 10}, {"N": 20}, {"N": 30}, {"N": 7})),
    ("where_of_shape", "float[N] x", "n = Shape (x)\nk = Constant <value_ints = [4]> ()\nc = Less (n, k)\n"
     "t = Where (c, k, n)\ny = ConstantOfShape (t)", {"y": ["max(4, N)"]}, ODD),
    ("product_of_shape", "float[B,S] x", "n = Shape (x)\np = ReduceProd <keepdims = 1> (n)\ny = ConstantOfShape (p)",
     {"y": ["B*S"]}, TEXT),
    ("top_k_of_minimum", "float[N] x", "n = Shape (x)\nk = Constant <value_ints = [5]> ()\nm = Min (n, k)\n"
     "y, i = TopK (x, m)", {"y": ["min(N, 5)"], "i": ["min(N, 5)"]}, ODD),
    ("gather_from_shape", "float[B,S] x", "n = Shape (x)\ni0 = Constant <value_ints = [1, 0]> ()\n"
     "t = Gather (n, i0)\ny = ConstantOfShape (t)", {"y": ["S", "B"]}, TEXT),
    ("branch_on_size", "float[N] x", "n = Size (x)\nk = Constant <value_int = 4> ()\nc = Less (n, k)\n"
     "y = If (c) <then_branch = a () => (float[] p) { p = Concat <axis = 0> (x, x) }, "
     "else_branch = b () => (float[] q) { q = Identity (x) }>", {"y": ["select(N < 4, 2*N, N)"]}, ODD),
    ("conv_same", "float[N,3,H,W] x", "k = ConstantOfShape (s)\ny = Conv <pads = [1, 1, 1, 1]> (x, k)",
     {"y": ["N", 8, "H", "W"]}, IMAGE),
    ("conv_stride", "float[N,3,H,W] x", "k = ConstantOfShape (s)\n"
     "y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, k)", {"y": ["N", 8, "(H + 1)//2", "(W + 1)//2"]}, IMAGE),
    ("conv_auto_pad", "float[N,3,H,W] x", "k = ConstantOfShape (s)\n"
     "y = Conv <auto_pad = \"SAME_UPPER\", strides = [3, 2]> (x, k)", {"y": ["N", 8, "(H + 2)//3", "(W + 1)//2"]}, IMAGE),
    ("pool_ceil", "float[N,3,H,W] x", "y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)",
     {"y": ["N", 3, "(H + 1)//2", "(W + 1)//2"]}, IMAGE),
    ("pool_floor", "float[N,3,H,W] x", "y = AveragePool <kernel_shape = [3, 3], strides = [2, 2]> (x)",
     {"y": ["N", 3, "(H - 3)//2 + 1", "(W - 3)//2 + 1"]}, IMAGE),
    ("resize_float", "float[N,3,H,W] x", "r = Constant <value = float[4] {1.0, 1.0, 0.7, 2.0}> ()\n"
     "y = Resize <mode = \"nearest\"> (x, , r)", {"y": ["N", 3, "f32scale(H, 0.7)", "2*W"]}, IMAGE),
    ("up_and_crop", "float[N,3,H,W] x, float[N,3,H,W] z", "k = ConstantOfShape (s)\n"
     "d = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, k)\nr = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()\n"
     "u = Resize <mode = \"nearest\"> (d, , r)\nn = Shape <start = 2> (z)\na = Constant <value_ints = [2, 3]> ()\n"
     "b = Constant <value_ints = [0, 0]> ()\ny = Slice (u, b, n, a)", {"y": ["N", 8, "H", "W"]}, IMAGE),
    ("halve_twice", "float[N,3,H,W] x", "p = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x)\n"
     "y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (p)",
     {"y": ["N", 3, "(H + 3)//4", "(W + 3)//4"]}, IMAGE),
    ("einsum", "float[B,S,8] x, float[B,T,8] z", "y = Einsum <equation = \"bsd,btd->bst\"> (x, z)",
     {"y": ["B", "S", "T"]}, ({"B": 1, "S": 2, "T": 3}, {"B": 2, "S": 5, "T": 1})),
    ("past_and_now", "float[B,P,8] x, float[B,S,8] z", "c = Concat <axis = 1> (x, z)\nt = Transpose <perm = [0, 2, 1]> (c)\n"
     "y = MatMul (z, t)", {"y": ["B", "S", "P + S"]}, ({"B": 1, "P": 0, "S": 3}, {"B": 2, "P": 5, "S": 1})),
    ("depth_to_space", "float[N,8,H,W] x", "y = DepthToSpace <blocksize = 2> (x)", {"y": ["N", 2, "2*H", "2*W"]}, IMAGE),
    ("one_hot", "int64[N] x", "d = Constant <value_int = 6> ()\nv = Constant <value = float[2] {0.0, 1.0}> ()\n"
     "y = OneHot (x, d, v)", {"y": ["N", 6]}, ODD),
    ("shape_of_known_data", "float[N] x", "c = Constant <value_ints = [0, 3, 0, 5]> ()\ni = NonZero (c)\n"
     "n = Shape (i)\ny = ConstantOfShape (n)", {"y": [1, 2]}, ODD),
    ("roll_windows", "float[N,H,4] x", "k = Constant <value_ints = [3]> ()\nz = Constant <value_ints = [0]> ()\n"
     "m = Constant <value_ints = [9223372036854775807]> ()\na = Constant <value_ints = [1]> ()\nb = Slice (x, k, m, a)\n"
     "c = Slice (x, z, k, a)\ny = Concat <axis = 1> (b, c)", {"y": ["N", "H", 4]},
     ({"N": 1, "H": 2}, {"N": 2, "H": 3}, {"N": 1, "H": 9})),
    ("last_of_a_cache", "float[B,P,8] x, float[B,S,8] z", "c = Concat <axis = 1> (x, z)\n"
     "b = Constant <value_ints = [-16]> ()\nm = Constant <value_ints = [9223372036854775807]> ()\n"
     "a = Constant <value_ints = [1]> ()\ny = Slice (c, b, m, a)", {"y": ["B", "min(16, P + S)", 8]},
     ({"B": 1, "P": 0, "S": 3}, {"B": 2, "P": 20, "S": 1}, {"B": 1, "P": 12, "S": 4})),
    ("heads_and_back", "float[B,S,D] x", "s = Constant <value_ints = [0, 0, 8, -1]> ()\nh = Reshape (x, s)\n"
     "t = Transpose <perm = [0, 2, 1, 3]> (h)\nu = Transpose <perm = [0, 2, 1, 3]> (t)\nk = Constant <value_ints = [0, 0, -1]> ()\n"
     "r = Reshape (u, k)\ny = Add (r, x)", {"y": ["B", "S", "D"]}, ({"B": 1, "S": 2, "D": 8}, {"B": 2, "S": 3, "D": 64})),
    ("shuffle_channels", "float[N,C,H,W] x", "s = Shape (x)\nz = Constant <value_ints = [0]> ()\no = Constant <value_ints = [1]> ()\n"
     "t = Constant <value_ints = [2]> ()\nf = Constant <value_ints = [4]> ()\nn = Slice (s, z, o)\nc = Slice (s, o, t)\n"
     "q = Slice (s, t, f)\nd = Div (c, t)\na = Concat <axis = 0> (n, t, d, q)\nr = Reshape (x, a)\n"
     "p = Transpose <perm = [0, 2, 1, 3, 4]> (r)\ne = Constant <value_ints = [-1]> ()\nb = Concat <axis = 0> (n, e, q)\n"
     "y = Reshape (p, b)", {"y": ["N", "C", "H", "W"]}, ({"N": 1, "C": 2, "H": 3, "W": 4}, {"N": 2, "C": 8, "H": 1, "W": 5})),
    ("space_and_back", "float[N,C,H,W] x", "p = SpaceToDepth <blocksize = 2> (x)\ny = DepthToSpace <blocksize = 2> (p)",
     {"y": ["N", "C", "H", "W"]}, ({"N": 1, "C": 2, "H": 4, "W": 6}, {"N": 2, "C": 1, "H": 2, "W": 2})),
    ("windows_of_padded", "float[B,H,W,8] x", "s = Shape (x)\no = Constant <value_ints = [1]> ()\nt = Constant <value_ints = [3]> ()\n"
     "k = Constant <value_ints = [7, 7]> ()\nq = Slice (s, o, t)\nr = Mod (q, k)\nd = Sub (k, r)\ne = Mod (d, k)\n"
     "z = Constant <value_ints = [0, 0]> ()\na = Constant <value_ints = [1, 2]> ()\np = Concat <axis = 0> (z, e)\n"
     "w = Pad (x, p, , a)\nv = Shape <start = 1, end = 2> (w)\nu = Constant <value_ints = [7]> ()\nh = Div (v, u)\n"
     "m = Constant <value_ints = [-1]> ()\nc = Constant <value_ints = [8]> ()\nl = Concat <axis = 0> (m, h, u, c)\n"
     "f = Shape <start = 2, end = 3> (w)\ng = Concat <axis = 0> (m, h, u, f, c)\ni = Reshape (w, g)\ny = Relu (i)",
     {"y": ["B", "(H + 6)//7", 7, "(W + 6)//7*7", 8]}, ({"B": 1, "H": 7, "W": 14}, {"B": 2, "H": 13, "W": 8}, {"B": 3, "H": 1, "W": 20})),
    ("capped_by_where", "float[N] x", "n = Shape (x)\nk = Constant <value_ints = [16]> ()\nc = Greater (n, k)\n"
     "t = Where (c, k, n)\ny = ConstantOfShape (t)", {"y": ["min(N, 16)"]}, ODD),
    ("repeat_by_quotient", "float[B,H,S,8] q, float[B,K,S,8] x", "n = Shape <start = 1, end = 2> (q)\nm = Shape <start = 1, end = 2> (x)\n"
     "r = Div (n, m)\no = Constant <value_ints = [1]> ()\nt = Concat <axis = 0> (o, r, o, o)\nw = Tile (x, t)\ny = Add (w, q)",
     {"y": ["B", "H", "S", 8]}, ({"B": 1, "H": 8, "K": 2, "S": 3}, {"B": 2, "H": 4, "K": 4, "S": 1})),
    ("remainder_of_float", "float[N] x", "n = Shape (x)\nf = Cast <to = 1> (n)\nk = Constant <value_floats = [4.0]> ()\n"
     "m = Mod <fmod = 1> (f, k)\ni = Cast <to = 7> (m)\ny = ConstantOfShape (i)", {"y": ["N % 4"]}, ODD),
    ("count_up_by_nonzero", "float[N] x", "n = Shape (x)\nc = ConstantOfShape <value = int64[1] {1}> (n)\nz = NonZero (c)\n"
     "t = Transpose <perm = [1, 0]> (z)\na = Constant <value_ints = [1]> ()\niy = Squeeze (t, a)", {"iy": ["N"]}, ODD),
    ("while_below_size", "float[N,4] x", "n = Size (x)\nz = Constant <value_int = 0> ()\no = Constant <value_int = 3> ()\n"
     "m = Constant <value_int = 9223372036854775807> ()\nc = Less (z, n)\n"
     "k, y = Loop (m, c, z) <body = b (int64 i, bool g, int64 a) => (bool h, int64 e, float[P,4] r) "
     "{ e = Add (a, o)\nr = Relu (x)\nh = Less (e, n) }>", {"y": ["(4*N + 2)//3", "N", 4]}, ODD),
    ("rounds_of_known_number", "float[N,4] x", "m = Constant <value_int = 3> ()\nt = Constant <value = bool {1}> ()\n"
     "y = Loop (m, t, x) <body = b (int64 i, bool g, float[P,4] a) => (bool h, float[Q,4] r) "
     "{ h = Identity (g)\nr = Concat <axis = 0> (a, a) }>", {"y": ["8*N", 4]}, ODD),
    ("list_in_a_loop", "float[N,M] x", "e = SequenceEmpty ()\nk = Shape <end = 1> (x)\nn = Squeeze (k)\n"
     "t = Constant <value = bool {1}> ()\nq = Loop (n, t, e) <body = b (int64 i, bool g, seq(float[M]) a) => "
     "(bool h, seq(float[M]) r) { h = Identity (g)\nv = Gather (x, i)\nr = SequenceInsert (a, v) }>\n"
     "y = ConcatFromSequence <axis = 0, new_axis = 1> (q)", {"y": ["N", "M"]}, ({"N": 1, "M": 3}, {"N": 4, "M": 2})),
    ("list_changed", "float[N,4] x, float[M,4] z", "q = SequenceConstruct (x, z)\ni0 = Constant <value_int = 0> ()\n"
     "r = SequenceInsert (q, z, i0)\nt = SequenceErase (r)\ny = ConcatFromSequence <axis = 0> (t)", {"y": ["N + M", 4]},
     ({"N": 1, "M": 5}, {"N": 4, "M": 2})),
    ("map_over_rows", "float[N,M] x", "q = SplitToSequence <axis = 0> (x)\n"
     "r = SequenceMap <body = b (float[1,M] a) => (float[1,P] c) { c = Concat <axis = 1> (a, a) }> (q)\n"
     "y = ConcatFromSequence <axis = 0> (r)", {"y": ["N", "2*M"]}, ({"N": 1, "M": 3}, {"N": 4, "M": 2})),
]


def model(name, inputs, body, shapes):
    """Convolutions take 8 kernels of 3 x 3: `s` holds that shape."""
    results = ", ".join("%s[] %s" % ("int64" if result.startswith("i") else "float", result) for result in shapes)
    if "(s)" in body:
        body = "s = Constant <value_ints = [8, 3, 3, 3]> ()\n" + body
    made = parser.parse_model('<ir_version: 8, opset_import: ["" : 18]>\n%s (%s) => (%s) {\n%s\n}' %
                              (name, inputs, results, body))
    for value in made.graph.output:
        value.type.tensor_type.ClearField("shape")
    for node in made.graph.node:
        if node.op_type == "Constant" and node.attribute[0].name != "value":  # which not every tool reads
            array = np.array(helper.get_attribute_value(node.attribute[0]))
            tensor = numpy_helper.from_array(array.astype(np.float32) if array.dtype.kind == "f" else array)
            node.attribute[0].CopyFrom(helper.make_attribute("value", tensor))
    return made


def write(folder):
    """Writes all and returns the cases."""
    os.makedirs(os.path.join(folder, "onnx"), exist_ok=True)
    cases = []
    for name, inputs, body, shapes, sizes in FRAGMENTS:
        onnx.save(model(name, inputs, body, shapes), os.path.join(folder, "onnx", name + ".onnx"))
        runs = [{"bind": bind, "shapes": {result: [int(_fragments.value(dim, bind)) for dim in dims]
                                          for result, dims in shapes.items()}} for bind in sizes]
        cases.append({"name": name, "runs": runs, "expect": shapes})
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump(cases, file, indent=1)
    return cases


def check(folder, cases):
    """The shapes that ONNX Runtime gives, where they are others."""
    import onnxruntime

    faults = 0
    for case in cases:
        session = onnxruntime.InferenceSession(_fragments.path_of(folder, case), providers=["CPUExecutionProvider"])
        for run in case["runs"]:
            feeds = {}
            for value in session.get_inputs():
                dims = [run["bind"][dim] if isinstance(dim, str) else dim for dim in value.shape]
                feeds[value.name] = np.zeros(dims, np.int64 if "int64" in value.type else np.float32)
            for value, got in zip(session.get_outputs(), session.run(None, feeds)):
                if list(got.shape) != run["shapes"][value.name]:
                    faults += 1
                    print("%s at %s: %s is %s, expected %s" %
                          (case["name"], run["bind"], value.name, list(got.shape), run["shapes"][value.name]))
    print("%d fragments run, %d differ" % (len(cases), faults))
    return faults


def main():
    if len(sys.argv) < 2 or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    cases = write(sys.argv[1])
    return 1 if sys.argv[2:] and check(sys.argv[1], cases) else 0


if __name__ == "__main__":
    sys.exit(main())
