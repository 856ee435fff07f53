"""contract, why and cost on small models. The expected numbers are worked by hand; contracts are compared with what
ONNX Runtime runs, size by size, and with sizes computed here."""
# needs: numpy onnx onnxruntime
import json
import os
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

from _cli import tenon


def weights(name, *shape):
    return numpy_helper.from_array(np.zeros(shape, np.float32), name)


def save(folder, name, nodes, inputs, outputs, initializers=()):
    def info(n, shape):
        return helper.make_tensor_value_info(n, TensorProto.FLOAT, shape)

    graph = helper.make_graph(nodes, "g", [info(*i) for i in inputs], [info(o, None) for o in outputs], initializers)
    path = os.path.join(folder, name + ".onnx")
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def u_net(folder, levels=3, by=2, ceil=True, crop=0):
    """Halvings (or divisions by `by`) and as many enlargements, added to what was there before. Rounding up or down."""
    nodes, initializers, skips, at = [], [], [], "x"
    pool = {"kernel_shape": [by + 1] * 2, "pads": [by // 2] * 4} if ceil else {"kernel_shape": [by] * 2}
    for i in range(levels):
        initializers.append(weights("w%d" % i, 2, 2 if i else 1, 3, 3))
        nodes.append(helper.make_node("Conv", [at, "w%d" % i], ["c%d" % i], name="Conv_%d" % i, pads=[1] * 4))
        nodes.append(helper.make_node("MaxPool", ["c%d" % i], ["p%d" % i], name="Pool_%d" % i, strides=[by] * 2, **pool))
        skips.append("c%d" % i)
        at = "p%d" % i
    for i in reversed(range(levels)):
        initializers.append(weights("t%d" % i, 2, 2, by, by))
        nodes.append(helper.make_node("ConvTranspose", [at, "t%d" % i], ["u%d" % i], name="Up_%d" % i,
                                      strides=[by] * 2, pads=[0, 0, crop, crop]))
        nodes.append(helper.make_node("Add", ["u%d" % i, skips[i]], ["a%d" % i], name="Add_%d" % i))
        at = "a%d" % i
    return save(folder, "unet", nodes, [("x", ["B", 1, "H", "W"])], [at], initializers)


def u_net_takes(size, levels, by, ceil, crop):
    """Is this side valid? With the sizes of each level."""
    sizes = [size]
    for _ in range(levels):
        kernel, pad = (by + 1, by // 2) if ceil else (by, 0)
        if sizes[-1] + 2 * pad < kernel:
            return False
        sizes.append((sizes[-1] + 2 * pad - kernel) // by + 1)
    at = sizes.pop()
    while sizes:
        at, skip = at * by - crop, sizes.pop()
        if at < 1 or (at != skip and 1 not in (at, skip)):
            return False
        at = max(at, skip)
    return True


def bcast(*sizes):
    return max((s for s in sizes if s != 1), default=1)


def holds(expr, env):
    try:
        return bool(eval(expr, {"__builtins__": {}, "min": min, "max": max, "bcast": bcast,
                                "select": lambda c, a, b: a if c else b}, env))
    except ZeroDivisionError:
        return False


def contract(path):
    return json.loads(tenon("contract", path, "--json")[0])


def says(out, env):
    return all(holds(c["expr"], env) for c in out["conditions"])


def words(out):
    return [c["words"] for c in out["conditions"]]


def check_failing(out):
    """Each condition comes with the nodes, and with a size that breaks it alone; the smallest sizes break none."""
    for c in out["conditions"]:
        assert c["checks"] and all(k["node"] and k["why"] for k in c["checks"]), c
        assert c["fails"], c
        env = {**out["smallest"], **c["fails"]}
        assert [d["expr"] for d in out["conditions"] if not holds(d["expr"], env)] == [c["expr"]], (c, env)
        assert all(holds(k["expr"], out["smallest"]) for k in c["checks"]), c
    assert says(out, out["smallest"])


def test_contract(folder):
    out = contract(u_net(folder))
    assert words(out) == ["H must be at least 1", "H must be 1 or a multiple of 8", "W must be at least 1",
                          "W must be 1 or a multiple of 8"], words(out)
    row = out["conditions"][1]
    assert row["fails"] == {"H": 2} and [k["node"] for k in row["checks"]] == ["Add_0"], row
    assert out["smallest"] == {"B": 1, "H": 1, "W": 1}
    check_failing(out)
    nodes = [helper.make_node("Add", ["x", "y"], ["z"], name="sum")]
    free = save(folder, "free", [helper.make_node("Relu", ["x"], ["z"])], [("x", ["N"])], ["z"])
    assert "every size is valid" in tenon("contract", free)[0]
    text = tenon("contract", save(folder, "add", nodes, [("x", ["N", 8]), ("y", ["M", 8])], ["z"]))[0]
    assert "N and M must be equal, or one of them 1   (sum: cannot broadcast dim 0" in text, text
    assert "  fails at N = 2, M = 3\n" in text, text


def test_divisors(folder):
    """Repeated division: what is said is what each size gives, 1 to 400."""
    for levels, by, ceil, crop in [(k, 2, c, 0) for k in range(1, 7) for c in (True, False)] + [
            (1, 3, False, 0), (2, 3, False, 0), (3, 3, False, 0), (2, 3, True, 0), (2, 2, False, 1), (3, 2, True, 1),
            (2, 4, False, 0), (3, 2, False, 2)]:
        out = contract(u_net(folder, levels, by, ceil, crop))
        for h in range(1, 401):
            want = u_net_takes(h, levels, by, ceil, crop)
            said = says(out, {"B": 1, "H": h, "W": (out["smallest"] or {"W": 1})["W"]})
            assert said == want, (levels, by, ceil, crop, h, words(out))
        if out["smallest"]:
            check_failing(out)
        if crop == 0 and not ceil:
            form = "H must be a multiple of %d" if levels == 1 else "H must be a positive multiple of %d"
            assert form % by**levels in words(out), words(out)


def onnxruntime_runs(session, feeds):
    try:
        session.run(None, feeds)
        return True
    except Exception:
        return False


def check_runs(path, bindings, shapes):
    """ONNX Runtime runs a binding iff the contract allows it."""
    out = contract(path)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options)
    seen = set()
    for env in bindings:
        feeds = {n: np.zeros([eval(str(d), {}, env) for d in dims], np.float32) for n, dims in shapes}
        ran = onnxruntime_runs(session, feeds)
        assert says(out, env) == ran, (env, ran, words(out))
        seen.add(ran)
    assert seen == {True, False}, "both must occur"
    check_failing(out)
    return out


def ints(name, *numbers):
    return numpy_helper.from_array(np.array(numbers, np.int64), name)


def test_against_onnxruntime(folder):
    x = [("x", ["B", 1, "H", "W"])]
    for levels, by, ceil, crop in ((2, 2, True, 0), (3, 2, False, 0), (2, 3, False, 0), (2, 2, True, 1)):
        least = 1 if ceil else by**levels  # below, ONNX Runtime pools windows that do not fit: -1 / 2 is 0 in C
        sides = [{"B": 1, "H": h, "W": w} for h in range(least, 41) for w in (9, 16)]
        check_runs(u_net(folder, levels, by, ceil, crop), sides, x)
    # tokens and a table of 20 positions, of which as many as there are tokens are taken
    nodes = [helper.make_node("Shape", ["x"], ["n"], start=1, end=2),
             helper.make_node("Slice", ["table", "zero", "n", "zero"], ["positions"]),
             helper.make_node("Add", ["x", "positions"], ["y"], name="embed")]
    path = save(folder, "tokens", nodes, [("x", ["B", "S", 4])], ["y"], [weights("table", 20, 4), ints("zero", 0)])
    out = check_runs(path, [{"B": b, "S": s} for b in (1, 2) for s in range(1, 45)], [("x", ["B", "S", 4])])
    assert words(out) == ["S must be at most 20"], words(out)
    # heads of 6 that a Reshape forms, and a window
    nodes = [helper.make_node("Reshape", ["x", "heads"], ["h"], name="heads"),
             helper.make_node("ReduceSum", ["h", "axes"], ["s"], keepdims=0),
             helper.make_node("Conv", ["s", "w"], ["y"], name="window", strides=[2])]
    path = save(folder, "heads", nodes, [("x", ["B", "S"])], ["y"],
                [ints("heads", 1, 2, -1, 6), ints("axes", 3), weights("w", 1, 2, 3)])
    out = check_runs(path, [{"B": b, "S": s} for b in (1, 2, 3, 6) for s in range(1, 40)], [("x", ["B", "S"])])
    # two inputs whose sizes depend on each other
    nodes = [helper.make_node("Concat", ["x", "x"], ["xx"], axis=0, name="twice"),
             helper.make_node("Add", ["xx", "y"], ["z"], name="sum"),
             helper.make_node("MatMul", ["z", "w"], ["m"], name="product")]
    shapes = [("x", ["N", "K"]), ("y", ["M", "K"])]
    path = save(folder, "two", nodes, shapes, ["m"], [weights("w", 6, 3)])
    bindings = [{"N": n, "M": m, "K": k} for n in range(1, 6) for m in range(1, 11) for k in (1, 3, 6)]
    check_runs(path, bindings, shapes)


def test_run_time_checks(folder):
    """What only a branch demands is said apart, with the branch."""
    def branch(name, nodes):
        return helper.make_graph(nodes, name, [], [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)])

    conv = [helper.make_node("Conv", ["x", "w"], ["a"], name="window", strides=[2])]
    nodes = [helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
             helper.make_node("Greater", ["s", "none"], ["c"]),
             helper.make_node("If", ["c"], ["y"], name="choose", then_branch=branch("a", conv),
                              else_branch=branch("b", [helper.make_node("Identity", ["x"], ["b"])]))]
    path = save(folder, "branch", nodes, [("x", [1, 1, "S"])], ["y"], [weights("w", 1, 1, 5), weights("none")])
    text = tenon("contract", path)[0]
    assert "every size is valid" not in text and "no size is refused before the run" in text, text
    assert "in the then_branch of node 'choose' (If):\n  S must be at least 5   (window: " in text, text
    out = contract(path)
    assert out["conditions"] == [] and out["during_run"][0]["expr"] == "5 <= S", out
    assert out["during_run"][0]["in"] == "then_branch of node 'choose' (If)" and out["smallest"] == {"S": 5}, out


def test_words(folder):
    """A condition on what is multiplied by a size that may be 0; one that only two zeros break; contents below 0."""
    nodes = [helper.make_node("Reshape", ["x", "heads"], ["h"], name="heads"),
             helper.make_node("Slice", ["x", "zero", "eight", "two"], ["s"]),
             helper.make_node("Reshape", ["s", "few"], ["k"], name="few")]
    path = save(folder, "heads", nodes, [("x", ["B", "S", "D"])], ["h", "k"],
                [ints("heads", 0, 0, 8, 4), ints("few", 0, 0, 2, 4), ints("zero", 0), ints("eight", 8), ints("two", 2)])
    out = contract(path)
    assert words(out) == ["D must be 32, unless B or S is 0"], words(out)
    check_failing(out)
    nodes = [helper.make_node("Concat", ["x", "y"], ["xy"], axis=0), helper.make_node("Shape", ["xy"], ["n"], end=1),
             helper.make_node("Concat", ["n", "rest"], ["target"], axis=0),
             helper.make_node("Concat", ["xy", "xy"], ["wide"], axis=1), helper.make_node("Reshape", ["wide", "target"], ["r"])]
    out = contract(save(folder, "sum", nodes, [("x", ["S", 4]), ("y", ["P", 4])], ["r"], [ints("rest", -1, 2)]))
    assert words(out) == ["S + P must be at least 1"] and out["conditions"][0]["fails"] == {"S": 0, "P": 0}, out
    nodes = [helper.make_node("Reshape", ["x", "form"], ["r"], name="form"), helper.make_node("Gemm", ["a", "b", "c"], ["y"])]
    out = contract(save(folder, "forms", nodes, [("x", ["N", "C", "W"]), ("a", ["M", 3]), ("b", [3, 5]), ("c", ["P", 5])],
                        ["r", "y"], [ints("form", 0, 4, -1)]))
    assert words(out) == ["N must be at least 1", "C*W % 4 must be 0", "P must be 1 or M"], words(out)
    check_failing(out)
    path = model(folder, "tile", [helper.make_node("Tile", ["x", "r"], ["y"])], [("x", ["N"]), ("r", [1])], ["y"],
                 types={"r": TensorProto.INT64})
    out = contract(path)
    assert words(out) == ["r_e0 must be at least 0"] and out["conditions"][0]["fails"] == {"r_e0": -1}, out


def test_why(folder):
    text = tenon("why", u_net(folder), "u2")[0]
    assert "from node 'Up_2' (ConvTranspose)" in text and "symbol H: dim 2 of input 'x'" in text, text
    assert "no value 'nothing'" in tenon("why", u_net(folder), "nothing", status=3)[1]


def why(folder, value, nodes, inputs, initializers=(), types=None):
    path = model(folder, "why", nodes, inputs, [value], initializers, types=types)
    return tenon("why", path, value)[0]


def test_why_data_decides(folder):
    """The operator that decides a size by data is named, with the operand and the bound."""
    node = helper.make_node
    text = why(folder, "y", [node("NonZero", ["x"], ["i"], name="find"), node("Transpose", ["i"], ["t"]),
                             node("Shape", ["t"], ["s"], name="size"), node("ConstantOfShape", ["s"], ["y"])],
               [("x", ["N"])])
    assert "symbol i_d1: dim 1 of 'i', node 'find' (NonZero), at most N: decided by data, the elements of 'x'" in text, text
    text = why(folder, "y", [node("Compress", ["x", "c"], ["y"], name="pick", axis=0)], [("x", ["N", 4]), ("c", ["M"])],
               types={"c": TensorProto.BOOL})
    assert "node 'pick' (Compress)" in text and "at most min(N, M): decided by data, the elements of 'x', 'c'" in text, text
    cast = node("Cast", ["n"], ["k"], to=TensorProto.INT64, name="cast")
    form = [cast, node("Reshape", ["x", "k"], ["y"], name="form"), node("Relu", ["y"], ["z"], name="act")]
    text = why(folder, "z", form, [("x", ["N", 4]), ("n", [2])])
    assert "symbol y_d1: dim 1 of 'y', node 'form' (Reshape): decided by data, the elements of 'k'" in text, text
    text = why(folder, "z", form, [("x", ["N", 4]), ("n", ["R"])])
    assert text.count("stops at") == 1 and "stops at node 'form' (Reshape): the rank depends on the elements of 'k'" in text
    text = why(folder, "z", [node("Foo", ["x"], ["y"], name="strange", domain="my.ops"), node("Relu", ["y"], ["z"])],
               [("x", ["N", 4])])
    assert text.count("stops at") == 1 and "stops at node 'strange' (Foo): nobody knows this operator" in text, text
    norm = node("SkipLayerNormalization", ["x", "x", "g"], ["y", "mean"], name="norm", domain="com.microsoft")  # which has no mean
    text = why(folder, "z", [norm, node("Relu", ["y"], ["z"])], [("x", ["B", "S", 4]), ("g", [4])])
    assert text.count("stops at") == 1 and "stops at node 'norm' (SkipLayerNormalization)" in text, text


def test_why_constants(folder):
    """The chain of rules and constants, from the value back to the input."""
    node = helper.make_node
    nodes = [node("Shape", ["x"], ["s"], name="sizes"), node("Gather", ["s", "zero"], ["b"], name="batch"),
             node("Unsqueeze", ["b", "axis"], ["b1"], name="grow"), node("Concat", ["b1", "tail"], ["target"], axis=0, name="join"),
             node("Reshape", ["x", "target"], ["y"], name="form")]
    zero = numpy_helper.from_array(np.array(0), "zero")
    text = why(folder, "y", nodes, [("x", ["N", 4, 6])], [zero, ints("axis", 0), ints("tail", 2, 12)])
    chain = ["y: f32[N,2,12]", "from node 'form' (Reshape)", "shape target: i64[3] = [N, 2, 12]",
             "from node 'join' (Concat)", "inputs tail: i64[2] = [2, 12] (constant)", "from node 'grow' (Unsqueeze)",
             "from node 'batch' (Gather)", "indices zero: i64[] = [0] (constant)", "from node 'sizes' (Shape)",
             "symbol N: dim 0 of input 'x'"]
    at = [text.find(part) for part in chain]
    assert at[0] == 0 and at == sorted(at) and -1 not in at, (at, text)


def test_cost(folder):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["m"]), helper.make_node("Relu", ["m"], ["y"])]
    path = save(folder, "matmul", nodes, [("x", ["B", 64])], ["y"], [weights("w", 64, 32)])
    out = json.loads(tenon("cost", path, "--dim", "B=2", "--json")[0])
    assert out["parameters"] == 2048 and out["parameter_bytes"] == 8192, out
    assert out["flops"] == {"formula": "4128*B", "value": 8256}, out["flops"]  # 2*64*32*B + 32*B
    assert out["bytes"] == {"formula": "640*B + 8192", "value": 9472}, out["bytes"]  # x, w, m; m, y
    assert out["live_bytes"] == {"formula": "384*B", "value": 768}, out["live_bytes"]  # x and m
    most = json.loads(tenon("cost", path, "--vary", "B", "--max-memory", "1MiB", "--json")[0])["largest"]
    assert most == (1048576 - 8192) // 384, most
    assert "no symbol 'Q'" in tenon("cost", path, "--dim", "Q=1", status=3)[1]
    assert "go together" in tenon("cost", path, "--vary", "B", status=2)[1]


def largest(path, symbol, room, takes=lambda n: True, reach=2, **sizes):
    """The largest number that fits, and the largest of those that is valid: the formula says so for the number, the
    next ones and, down to the valid one, for each number between."""
    args = ["--vary", symbol, "--max-memory", str(room), "--json"]
    if sizes:
        args += ["--dim", ",".join("%s=%d" % d for d in sizes.items())]
    out = json.loads(tenon("cost", path, *args)[0])
    formula = out["live_bytes"]["formula"]

    def strict(*sizes):
        assert len({s for s in sizes if s != 1}) < 2
        return bcast(*sizes)

    def fits(n):
        try:
            return eval(formula, {"__builtins__": {}, "min": min, "max": max, "bcast": strict},
                        {**sizes, symbol: n}) + out["parameter_bytes"] <= room
        except AssertionError:
            return False

    most, valid = out["largest"], out["largest_valid"]
    assert most is None or fits(most)
    assert not any(fits((most or 0) + k) for k in range(1, reach))
    want = next((n for n in range(most or 0, -1, -1) if takes(n) and fits(n)), None)
    assert valid == (None if most is None else want), (symbol, sizes, room, most, valid, want)
    return most, valid


def test_largest(folder):
    path = u_net(folder, 2)
    takes = lambda n: n > 0 and u_net_takes(n, 2, 2, True, 0)
    for room in (10**5, 10**6, 2**20, 2**30):
        most, valid = largest(path, "H", room, takes, 500, B=1, W=32)
        assert 0 < valid <= most
        largest(path, "B", room, H=20, W=20)
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0]), helper.make_node("MatMul", ["x", "t"], ["s"]),
             helper.make_node("MatMul", ["s", "x"], ["y"])]
    path = save(folder, "gram", nodes, [("x", ["S", 64])], ["y"])
    for room in (2**20, 2**23, 12345678):
        most, valid = largest(path, "S", room, reach=500)
        assert most == valid


def test_largest_valid(folder):
    """Of the sizes that fit, the largest that the contract allows, however far below; none where nothing fits."""
    for levels, by, ceil, crop in ((2, 2, False, 0), (3, 3, True, 0), (2, 2, True, 1), (1, 3, False, 0)):
        path = u_net(folder, levels, by, ceil, crop)
        takes = lambda n: n > 0 and u_net_takes(n, levels, by, ceil, crop)
        w = next(n for n in range(20, 200) if takes(n))
        for room in (10**5, 10**6):
            largest(path, "H", room, takes, B=1, W=w)
        assert largest(path, "H", 10, takes, B=1, W=w) == (None, None)
    path = u_net(folder, 2, ceil=False)
    assert "no H has" in tenon("cost", path, "--dim", "B=1,W=32", "--vary", "H", "--max-memory", "10")[0]
    assert "'H' is given twice" in tenon("cost", path, "--dim", "H=8,H=9", status=3)[1]
    assert "--dim gives 'H'" in tenon("cost", path, "--dim", "H=8", "--vary", "H", "--max-memory", "1GiB", status=3)[1]
    assert "must give 'W' too" in tenon("cost", path, "--dim", "B=8", "--vary", "H", "--max-memory", "1GiB", status=3)[1]
    # one valid number, far below the largest that fits; multiples that the user assumed; more than a symbol may be
    nodes = [helper.make_node("Concat", ["x", "x", "x"], ["c"], axis=0), helper.make_node("Add", ["c", "y"], ["z"])]
    path = save(folder, "far", nodes, [("x", ["N"]), ("y", ["M"])], ["z"])
    most, valid = largest(path, "N", 2**20, lambda n: n == 10, M=30)
    assert most > 10**4 and valid == 10
    most, valid = largest(path, "M", 2**20, lambda n: n in (1, 30), N=10)
    assert most > 10**4 and valid == 30
    out = tenon("cost", path, "--assume", "N % 7 == 0, N <= 1000", "--vary", "N", "--max-memory", "1GiB", "--dim", "M=1")[0]
    assert "fit 1073741824 bytes: 994\n" in out and "that is valid" not in out, out
    out = tenon("cost", path, "--assume", "N % 7 == 0", "--vary", "N", "--max-memory", "1000", "--dim", "M=1")[0]
    assert "fit 1000 bytes: 41\n" in out and "valid (see tenon contract): 35\n" in out, out  # 24*N + 4


def test_sizes_refused(folder):
    """Sizes that break the contract are refused as at a run, with the node, the operands and both numbers."""
    path = u_net(folder, 2, ceil=False)
    for extra in ([], ["--json"], ["--vary", "B", "--max-memory", "1GiB"]):
        out, said = tenon("cost", path, "--dim", "H=32,W=33", *extra, status=5)
        assert out == "" and "node 'Add_0' (Add): cannot broadcast dim 3: " in said and "W=33" in said, said
        assert "4*(W//4) with W (W=33, where W % 4 is 1)" in said, said
    tenon("cost", path, "--dim", "H=32,W=1", status=5)  # nothing of the window is left
    tenon("cost", path, "--dim", "H=32,W=32")
    assert "H is 9, but must be at most 8" in tenon("cost", path, "--assume", "H <= 8", "--dim", "H=9", status=5)[1]
    said = tenon("cost", path, "--assume", "H*W == 64", "--dim", "H=8,W=4", status=5)[1]
    assert "the assumption H*W == 64 does not hold (H=8, W=4, where H*W is 32)" in said, said
    assert "W=33" in tenon("dump", path, "--plan", "--dim", "B=1,H=32,W=33", status=5)[1]
    assert "W=33" in tenon("split", path, "--dim", "W=33", status=5)[1]
    nodes = [helper.make_node("Add", ["x", "y"], ["z"], name="Sum")]
    path = save(folder, "two", nodes, [("x", ["N", 2]), ("y", ["M", 2])], ["z"])
    said = tenon("cost", path, "--dim", "N=3,M=4", status=5)[1]
    assert "node 'Sum' (Add): cannot broadcast dim 0: N with M (N=3, M=4)" in said, said
    nodes = [helper.make_node("Concat", ["x", "x"], ["c"], axis=0), helper.make_node("Add", ["c", "y"], ["z"], name="Sum")]
    said = tenon("cost", save(folder, "twice", nodes, [("x", ["N"]), ("y", ["M"])], ["z"]), "--dim", "N=3,M=4", status=5)[1]
    assert "node 'Sum' (Add): cannot broadcast dim 0: 2*N with M (N=3, M=4, where 2*N is 6)" in said, said


def test_assumed(folder):
    """What the user assumed of several sizes is met by the smallest ones, and by those of --check."""
    path = u_net(folder, 2, ceil=False)
    said = tenon("contract", path, "--assume", "H*W == 64, W <= 4")[0]
    assert "assumed: H*W == 64" in said and "smallest valid sizes: B = 1, H = 16, W = 4" in said, said
    said = tenon("contract", path, "--assume", "H % 4 == 2")[0]
    assert "no valid sizes were found" in said, said
    assert "'S == 3, S == 4'" in tenon("contract", path, "--assume", "S == 3, S == 4", status=3)[1]


def test_assumed_of_made_names(folder):
    """Sizes that the model does not name can be assumed too, and a name that it has nowhere is told."""
    path = save(folder, "unnamed", [helper.make_node("NonZero", ["x"], ["z"], name="find"), helper.make_node("Cast", ["z"], ["y"], to=1)],
                [("x", [None, 4])], ["y"])
    said, warned = tenon("infer", path, "--json", "--assume", "x_d0 % 8 == 0, z_d1 <= 5")
    facts = json.loads(said)["symbols"]
    assert facts["x_d0"]["multiple_of"] == 8 and facts["z_d1"]["max"] == 5 and len(facts) == 2 and warned == "", (facts, warned)
    run = lambda fill: tenon("run", path, "--assume", "z_d1 <= 5", "--input", f"x={fill}:2x4", status=0 if fill == "zeros" else 5)
    assert "f32[2,0]" in run("zeros")[0] and "'z' dim 1 is 8, but z_d1 must be at most 5" in run("random")[1]
    assert "'--assume': no size of the model is called 'x_d1'" in tenon("infer", path, "--assume", "x_d1 <= 5")[1]


def node_flops(path, *dims):
    out = json.loads(tenon("cost", path, "--dim", ",".join(dims), "--json")[0])
    return {n["node"]: n["flops"]["value"] for n in out["nodes"]}, out["flops"]["value"]


def model(folder, name, nodes, inputs, outputs, initializers=(), opset=17, types=None):
    def info(n, shape):
        return helper.make_tensor_value_info(n, (types or {}).get(n, TensorProto.FLOAT), shape)

    graph = helper.make_graph(nodes, "g", [info(*i) for i in inputs], [info(o, None) for o in outputs], initializers)
    path = os.path.join(folder, name + ".onnx")
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=10), path)
    return path


def test_cost_products(folder):
    """Multiply-adds worked by hand, B = 2."""
    def one(op, shapes, outputs, want, initializers=(), opset=17, types=None, domain="", **attributes):
        names = [n for n, _ in shapes if n] + [w.name for w in initializers]
        order = attributes.pop("order", names)
        node = helper.make_node(op, order, outputs, name="n", domain=domain, **attributes)
        path = model(folder, "one", [node], shapes, outputs[:1], initializers, opset, types)
        found = node_flops(path, "B=2")[1]
        assert found == want, (op, found, want)

    one("Einsum", [("x", ["B", 3, 5]), ("y", ["B", 5, 7])], ["z"], 2 * (2 * 3 * 5 * 7), equation="bij,bjk->bik")
    one("Einsum", [("x", ["B", 3]), ("y", ["B", 3]), ("w", ["B", 4])], ["z"], 3 * (2 * 3 * 4), equation="bi,bi,bj->bj")
    one("Einsum", [("x", ["B", 3])], ["z"], 0, equation="bi->ib")  # moves only
    one("Einsum", [("x", ["B", 3])], ["z"], 6, equation="bi->b")
    # 4 heads of 8 over 6 keys: 5 queries
    scores = 2 * (2 * 4 * 5 * 6 * 8) + 5 * (2 * 4 * 5 * 6) + 2 * (2 * 4 * 5 * 6 * 10)
    one("Attention", [("q", ["B", 4, 5, 8]), ("k", ["B", 4, 6, 8]), ("v", ["B", 4, 6, 10])], ["y"], scores, opset=23)
    one("Attention", [("q", ["B", 5, 32]), ("k", ["B", 6, 16]), ("v", ["B", 6, 20])], ["y"], scores, opset=23,
        q_num_heads=4, kv_num_heads=2)
    # with 3 positions of the past
    past = 2 * (2 * 4 * 5 * 9 * 8) + 5 * (2 * 4 * 5 * 9) + 2 * (2 * 4 * 5 * 9 * 8)
    one("Attention", [("q", ["B", 4, 5, 8]), ("k", ["B", 4, 6, 8]), ("v", ["B", 4, 6, 8]), ("pk", ["B", 4, 3, 8]),
                      ("pv", ["B", 4, 3, 8])], ["y", "nk", "nv"], past, opset=23, order=["q", "k", "v", "", "pk", "pv"])
    one("MultiHeadAttention", [("q", ["B", 5, 32]), ("k", ["B", 6, 32]), ("v", ["B", 6, 32])], ["y"],
        2 * (2 * 4 * 5 * 6 * 8) * 2 + 5 * (2 * 4 * 5 * 6), domain="com.microsoft", num_heads=4)
    # images of 6x6 with 4 channels, 8 outputs, windows of 3x3 without padding: 4x4 places
    one("DeformConv", [("x", ["B", 4, 6, 6]), ("o", ["B", 18, 4, 4])], ["y"],
        2 * (2 * 8 * 16 * 4 * 9) + 8 * (2 * 4 * 16 * 9), [weights("w", 8, 4, 3, 3)], opset=19,
        order=["x", "w", "o"], kernel_shape=[3, 3])
    one("LRN", [("x", ["B", 4, 3, 3])], ["y"], 2 * 5 * (2 * 4 * 9), size=5)
    one("FusedMatMul", [("x", ["B", 3, 4]), ("y", ["B", 5, 4])], ["z"], 2 * (2 * 3 * 4 * 5), domain="com.microsoft",
        transB=1)
    nbits = [numpy_helper.from_array(np.zeros((16, 2, 16), np.uint8), "b"), weights("s", 32)]
    one("MatMulNBits", [("x", ["B", 64])], ["y"], 2 * (2 * 64 * 16), nbits, domain="com.microsoft", K=64, N=16, bits=4,
        block_size=32)
    # DFT of 16 real numbers: 9 results of two parts, 16 products for each
    one("DFT", [("x", ["B", 16, 1])], ["y"], 2 * (2 * 9 * 2) * 16, opset=17, axis=1, onesided=1)


def test_cost_of_bodies(folder):
    """A body counts as often as it runs, of two branches the dearer one."""
    def graph(name, nodes, inputs, outputs):
        return helper.make_graph(nodes, name, [helper.make_tensor_value_info(*i) for i in inputs],
                                 [helper.make_tensor_value_info(o, t, s) for o, t, s in outputs])

    f32 = TensorProto.FLOAT
    body = graph("body", [helper.make_node("MatMul", ["s", "w"], ["m"], name="step"),
                          helper.make_node("Identity", ["c"], ["d"])],
                 [("i", TensorProto.INT64, []), ("c", TensorProto.BOOL, []), ("s", f32, ["B", 8])],
                 [("d", TensorProto.BOOL, []), ("m", f32, ["B", 8])])
    nodes = [helper.make_node("Shape", ["x"], ["n"], start=0, end=1), helper.make_node("Squeeze", ["n"], ["rounds"]),
             helper.make_node("Loop", ["rounds", "", "x"], ["y"], name="loop", body=body)]
    path = model(folder, "loop", nodes, [("x", ["B", 8])], ["y"], [weights("w", 8, 8)])
    by_node, total = node_flops(path, "B=5")
    assert by_node["step"] == 2 * 5 * 8 * 8 and by_node["loop"] == total == 5 * by_node["step"], (by_node, total)
    then = graph("t", [helper.make_node("MatMul", ["x", "w"], ["a"], name="dear")], [], [("a", f32, ["B", 8])])
    other = graph("e", [helper.make_node("Relu", ["x"], ["b"], name="cheap")], [], [("b", f32, ["B", 8])])
    nodes = [helper.make_node("ReduceSum", ["x"], ["sum"], name="sum", keepdims=0),
             helper.make_node("Greater", ["sum", "none"], ["c"], name="compare"),
             helper.make_node("If", ["c"], ["y"], name="if", then_branch=then, else_branch=other)]
    path = model(folder, "if", nodes, [("x", ["B", 8])], ["y"], [weights("w", 8, 8), weights("none")])
    by_node, total = node_flops(path, "B=3")
    assert by_node["dear"] == 384 and by_node["cheap"] == 24 and by_node["if"] == 384, by_node
    assert total == 384 + 24 + 1, total  # the sum reads 24, the comparison gives 1
    scan = graph("s", [helper.make_node("Add", ["h", "r"], ["k"], name="step"), helper.make_node("Identity", ["k"], ["o"])],
                 [("h", f32, [8]), ("r", f32, [8])], [("k", f32, [8]), ("o", f32, [8])])
    nodes = [helper.make_node("Scan", ["zero", "x"], ["last", "y"], name="scan", body=scan, num_scan_inputs=1)]
    by_node, total = node_flops(model(folder, "scan", nodes, [("x", ["B", 8])], ["y"], [weights("zero", 8)]), "B=7")
    assert by_node["scan"] == total == 7 * 8, (by_node, total)


def test_reshape_to_nothing(folder):
    """A size of 0 in a target means a copied dim: [B,4,0,8] to [-1,0,8] has 4 where the size was meant."""
    eight = numpy_helper.from_array(np.array([8], np.int64), "eight")
    rest = numpy_helper.from_array(np.array([-1], np.int64), "rest")
    nodes = [helper.make_node("Shape", ["x"], ["size"], start=2, end=3),
             helper.make_node("Concat", ["rest", "size", "eight"], ["target"], axis=0),
             helper.make_node("Reshape", ["x", "target"], ["y"], name="Merge")]
    path = save(folder, "merge", nodes, [("x", ["B", 4, "S", 8])], ["y"], [rest, eight])
    said = tenon("contract", path)[0]
    assert "S must be at least 1   (Merge: " in said and "fails at S = 0" in said, said
    assert "Merge" in tenon("run", path, "--input", "x=random:2x4x0x8", status=5)[1]
    tenon("run", path, "--input", "x=random:0x4x3x8")  # no rows at all are well


with tempfile.TemporaryDirectory() as folder:
    for name, test in sorted(globals().copy().items()):
        if name.startswith("test_"):
            test(folder)
            print("passed", name)
