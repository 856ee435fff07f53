"""The smallest cases of what the differential runs found: one node, its operands fed and held by the file. Expected values
are worked by hand. Where judges are named, they are wrong, and are seen to be."""
# needs: numpy onnx onnxruntime
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
from onnx import TensorProto as T
from onnx import helper

import judge

NAN, INF = float("nan"), float("inf")
WIDE = {T.FLOAT8E4M3FN, T.FLOAT8E5M2, T.FLOAT8E8M0}  # travel as floats
LEAST = -2**63
CLOSE = [3 - 2.0**-22, 3]  # neighbours; their mean lies between them
AWAY = 2.0**-23 / (2.0**-23 + 1e-9)
NEAR = [3 - 2.0**-10, 3]
APART = 2.0**-11 / (2.0**-22 + 2.0**-40) ** 0.5

# (operator, opset, [(element type, shape, values), ...], attributes, (element type, values), judges that are wrong)
CASES = [
    # Neighbours in float32, and numbers 2^-10 apart: the mean must not be rounded, nor the variance be E[x^2] - E[x]^2.
    ("MeanVarianceNormalization", 13, [(T.FLOAT, [1, 1, 1, 2], CLOSE)], {}, (T.FLOAT, [[[[-AWAY, AWAY]]]]), "runtime", "reference"),
    ("GroupNormalization", 21, [(T.FLOAT, [1, 1, 2], NEAR), (T.FLOAT, [1], [1]), (T.FLOAT, [1], [0])], {"num_groups": 1, "epsilon": 2.0**-40},
     (T.FLOAT, [[[-APART, APART]]]), "runtime", "reference"),
    ("InstanceNormalization", 6, [(T.FLOAT, [1, 1, 2], NEAR), (T.FLOAT, [1], [1]), (T.FLOAT, [1], [0])], {"epsilon": 2.0**-40}, (T.FLOAT, [[[-APART, APART]]]), "runtime"),
    # Each group's own bias: the products are 0.
    ("ConvTranspose", 11, [(T.FLOAT, [1, 2, 1], [0, 0]), (T.FLOAT, [2, 1, 1], [1, 1]), (T.FLOAT, [2], [1, 2])], {"group": 2}, (T.FLOAT, [[[1], [2]]]), "reference"),
    # ((1 - 205/1024) * 5 - 1) / 2 = 1.49951, which float16 rounds to 1.5.
    ("GridSample", 20, [(T.FLOAT16, [1, 1, 1, 5], [0, 1, 2, 3, 4]), (T.FLOAT16, [1, 1, 1, 2], [-205 / 1024, 0])], {"mode": "nearest"}, (T.FLOAT16, [[[[1]]]]), "reference"),
    # Two channels, one block each, of two elements that lie two apart.
    ("Col2Im", 18, [(T.FLOAT, [1, 4, 1], [1, 2, 3, 4]), (T.INT64, [1], [3]), (T.INT64, [1], [2])], {"dilations": [2]}, (T.FLOAT, [[[1, 0, 2], [3, 0, 4]]]), "runtime"),
    # Windows of one, three apart: SAME pads nothing.
    ("LpPool", 18, [(T.FLOAT, [1, 1, 6], [1, 2, 3, 4, 5, 6])], {"kernel_shape": [1], "strides": [3], "auto_pad": "SAME_UPPER"}, (T.FLOAT, [[[1, 4]]]), "runtime"),
    # Equal scores: a mask of integers takes the second value; the first query sees the first value alone.
    ("Attention", 23, [(T.FLOAT, [1, 1, 1, 1], [0]), (T.FLOAT, [1, 1, 2, 1], [0, 0]), (T.FLOAT, [1, 1, 2, 1], [3, 5]), (T.INT64, [1, 2], [0, 100])], {},
     (T.FLOAT, [[[[5]]]])),
    ("Attention", 23, [(T.FLOAT, [1, 1, 2, 1], [0, 0]), (T.FLOAT, [1, 1, 2, 1], [0, 0]), (T.FLOAT, [1, 1, 2, 1], [3, 5]), (T.INT64, [2, 2], [0, -1, 0, 0])], {"is_causal": 1},
     (T.FLOAT, [[[[3], [4]]]]), "runtime"),
    ("ReduceLogSumExp", 13, [(T.INT32, [2], [-2, -3])], {"keepdims": 0}, (T.INT32, -1), "runtime"),  # -2 + ln(1 + 1/e) = -1.7, cut
    ("QuantizeLinear", 19, [(T.INT32, [1], [2**31 - 1]), (T.FLOAT, [], [0.5]), (T.UINT8, [], [0])], {}, (T.UINT8, [255]), "reference"),
    ("Cast", 19, [(T.FLOAT8E4M3FN, [2], [-0.0, 1])], {"to": T.BOOL}, (T.BOOL, [False, True]), "runtime"),
    ("Neg", 13, [(T.INT64, [3], [LEAST, 5, -7])], {}, (T.INT64, [LEAST, -5, 7])),
    ("Abs", 13, [(T.INT64, [3], [LEAST, 5, -7])], {}, (T.INT64, [LEAST, 5, 7])),
    ("Neg", 13, [(T.INT8, [2], [-128, 1])], {}, (T.INT8, [-128, -1])),
    ("Abs", 13, [(T.UINT64, [2], [2**64 - 1, 3])], {}, (T.UINT64, [2**64 - 1, 3])),
    ("Sign", 13, [(T.UINT64, [2], [2**64 - 1, 0])], {}, (T.UINT64, [1, 0])),
    ("Erf", 9, [(T.INT32, [5], [-9, -1, 0, 3, 4])], {}, (T.INT32, [-1, 0, 0, 0, 1])),
    ("Erf", 9, [(T.UINT8, [3], [0, 1, 200])], {}, (T.UINT8, [0, 0, 1])),
    ("IsNaN", 20, [(T.FLOAT8E4M3FN, [3], [1, NAN, 448])], {}, (T.BOOL, [False, True, False])),
    ("Cast", 19, [(T.INT32, [3], [65535, 7, -65535])], {"to": T.FLOAT8E5M2, "saturate": 0}, (T.FLOAT8E5M2, [INF, 7, -INF]), "runtime"),
    ("Cast", 19, [(T.FLOAT, [2], [500, 1])], {"to": T.FLOAT8E4M3FN, "saturate": 0}, (T.FLOAT8E4M3FN, [NAN, 1])),
    ("Cast", 25, [(T.FLOAT, [4], [3, 2.9, 1, 5])], {"to": T.FLOAT8E8M0}, (T.FLOAT8E8M0, [4, 4, 1, 8])),
    ("Cast", 25, [(T.FLOAT, [4], [3, 2.9, 1, 5])], {"to": T.FLOAT8E8M0, "round_mode": "down"}, (T.FLOAT8E8M0, [2, 2, 1, 4])),
    ("Cast", 25, [(T.FLOAT, [4], [3, 2.9, 1, 5])], {"to": T.FLOAT8E8M0, "round_mode": "nearest"}, (T.FLOAT8E8M0, [4, 2, 1, 4])),
    ("Cast", 25, [(T.STRING, [3], ["3", "2.9", "5"])], {"to": T.FLOAT8E8M0, "round_mode": "down"}, (T.FLOAT8E8M0, [2, 2, 4])),
    ("Cast", 19, [(T.STRING, [2], ["500", "1"])], {"to": T.FLOAT8E4M3FN, "saturate": 0}, (T.FLOAT8E4M3FN, [NAN, 1])),
    ("Cast", 13, [(T.FLOAT, [5], [1, -30000, 0.5, 16777216, 1e20])], {"to": T.STRING}, (T.STRING, ["1", "-30000", "0.5", "16777216", "1e+20"])),
    ("BlackmanWindow", 17, [(T.INT64, [], [6])], {"output_datatype": T.INT32}, (T.INT32, [0, 0, 0, 1, 0, 0])),
    ("OneHot", 11, [(T.FLOAT, [3], [-0.7, 1.9, -1.2]), (T.INT64, [1], [3]), (T.FLOAT, [2], [0, 1])], {},
     (T.FLOAT, [[1, 0, 0], [0, 1, 0], [0, 0, 1]])),
    ("QuantizeLinear", 21, [(T.FLOAT, [4], [1, 2, 3, 4]), (T.FLOAT, [2], [1, 0.5])], {"axis": 0, "block_size": 2}, (T.UINT8, [1, 2, 6, 8])),
    ("DequantizeLinear", 21, [(T.UINT8, [5], [1, 2, 3, 4, 5]), (T.FLOAT, [3], [1, 0.5, 2])], {"axis": 0, "block_size": 2},
     (T.FLOAT, [1, 2, 1.5, 2, 10])),
    *((op, v, [(T.FLOAT, [1, 1, 2], CLOSE), (T.FLOAT, [n], [1] * n), (T.FLOAT, [n], [0] * n), *more], {"epsilon": 0.0, **attrs}, (T.FLOAT, [[[-1, 1]]]))
      for op, v, n, more, attrs in (("InstanceNormalization", 6, 1, [], {}), ("GroupNormalization", 21, 1, [], {"num_groups": 1}), ("LayerNormalization", 17, 2, [], {}),
                                    ("BatchNormalization", 15, 1, [(T.FLOAT, [1], [0]), (T.FLOAT, [1], [1])], {"training_mode": 1}))),
    ("BatchNormalization", 15, [(T.FLOAT, [1, 1, 2], CLOSE), (T.FLOAT, [1], [1]), (T.FLOAT, [1], [0]), (T.FLOAT, [1], [3 - 2.0**-22]), (T.FLOAT, [1], [2.0**-40 / 9])],
     {"epsilon": 0.0}, (T.FLOAT, [[[0, 0.75]]])),
]


def array(kind, shape, values):
    return np.array(values, "f4" if kind in WIDE else helper.tensor_dtype_to_np_dtype(kind)).reshape(shape)


def model(op, opset, operands, attrs, out, held):
    prelude, inputs, constants, feeds, names = [], [], [], {}, []
    for i, (kind, shape, values) in enumerate(operands):
        name, carrier = "x%d" % i, T.FLOAT if kind in WIDE else kind
        first = name + "_wide" if kind in WIDE else name
        if held:
            constants.append(helper.make_tensor(first, carrier, shape, values))
        else:
            inputs.append(helper.make_tensor_value_info(first, carrier, [None] * len(shape)))
            feeds[first] = array(kind, shape, values)
        if kind in WIDE:
            prelude.append(helper.make_node("Cast", [first], [name], to=kind))
        names.append(name)
    nodes = prelude + [helper.make_node(op, names, ["y"], **attrs)]
    if out[0] in WIDE:
        nodes.append(helper.make_node("Cast", ["y"], ["y_wide"], to=T.FLOAT))
    result = helper.make_tensor_value_info(nodes[-1].output[0], T.FLOAT if out[0] in WIDE else out[0], None)
    graph = helper.make_graph(nodes, "case", inputs, [result], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=11), feeds


def main():
    bad = 0
    for op, opset, operands, attrs, out, *wrong in CASES:
        for held in (False, True):
            m, feeds = model(op, opset, operands, attrs, out, held)
            want = array(out[0], np.shape(out[1]), out[1])
            try:
                text = judge.difference(judge.by_tenon(m, feeds)[0], want, 1)
            except judge.tenon.Error as e:
                text = "refused: %s" % e
            for name in wrong if not held else ():
                if not judge.difference({"runtime": judge.by_runtime, "reference": judge.by_reference}[name](m, feeds)[0], want, 1):
                    text = "%s is right" % name
            if text:
                bad += 1
                print("%s %d %s%s: %s" % (op, opset, attrs, ", constant" if held else "", text))
    print("%d cases, %d wrong" % (2 * len(CASES), bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
