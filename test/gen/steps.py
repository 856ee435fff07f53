"""Steps by which a graph of grow.py grows: single operators by the recipes of this folder, or by recipes here where one
has to begin at a value that the graph holds; bodies; sequences. grow(rng, budget) makes a whole graph."""
import numpy as np
import onnx
from onnx import TensorProto, helper

import draw
import network
from draw import FLOATS, INTS, NAMES, UNSIGNED, WORDS, Illegal
from grow import BOOL, F32, I64, TYPES, Graph, Grown, dtype_of, joined

OWN = {}  # operator -> recipe that takes precedence over the folder's
# Made by steps of their own, or without a shape of interest.
ELSEWHERE = {"If", "Loop", "Scan", "SequenceConstruct", "SequenceEmpty", "SequenceLength", "SequenceAt", "SequenceErase", "SequenceInsert", "ConcatFromSequence",
             "SplitToSequence", "SequenceMap", "Optional", "OptionalHasElement", "OptionalGetElement", "Constant", "Bernoulli", "Multinomial", "Upsample", "Scatter"}
SHAPE_OPS = ("Shape", "Shape", "Gather", "Slice", "Concat", "Reshape", "Reshape", "Expand", "Range", "ConstantOfShape", "Where", "Cast", "Mod", "Div",
             "Add", "Sub", "Mul", "Min", "Max", "Squeeze", "Unsqueeze", "Transpose", "Split", "Tile", "Pad", "Size", "Equal", "Less", "Not", "And", "Floor",
             "Ceil", "Round", "Sqrt", "Neg", "Abs", "ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin", "CumSum", "GatherND", "GatherElements", "ScatterND",
             "ScatterElements", "NonZero", "TopK", "Unique", "Compress", "Flatten", "Identity", "Pow", "OneHot", "Clip", "Sign", "Trilu", "EyeLike", "ArgMax")
OPSETS = (8, 9, 10, 11, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18, 19, 20, 21, 21, 22, 23, 24)
REFUSED = set()  # (operator, version, type) that ONNX Runtime has no kernel for


def own(*ops):
    def register(function):
        for op in ops:
            OWN[op] = function
        return function
    return register


@own("Conv")
def conv(g):
    x = g.x(rank=(3, 5), least=1)
    kernel = network.window(g, x.shape[2:])
    c = x.shape[1]
    group = g.pick([k for k in (1, 1, 2, 3, c) if c % k == 0])
    out = group * g.int(1, 3)
    g.x((out, c // group) + tuple(kernel))
    if g.flip():
        g.x((out,))
    g.maybe(kernel_shape=kernel)
    if group > 1:
        g.attr(group=group)


@own("ConvTranspose")
def conv_transpose(g):
    x = g.x(rank=(3, 5), least=1)
    image, c = x.shape[2:], x.shape[1]
    kernel, strides = [g.int(1, 3) for _ in image], [g.int(1, 3) for _ in image]
    mode = g.pick(["", "pads", "SAME_UPPER", "SAME_LOWER"])
    if mode == "pads":
        g.attr(pads=[g.int(0, (k - 1) // 2) for k in kernel * 2])
    elif mode:
        g.attr(auto_pad=mode)
    if mode in ("", "pads") and g.flip(0.4):
        g.attr(output_padding=[g.int(0, max(0, s - 1)) for s in strides])
    g.x((c, g.int(1, 3)) + tuple(kernel))
    g.attr(strides=strides)


@own("MaxPool", "AveragePool", "LpPool")
def pool(g):
    x = g.x(rank=(3, 5), least=1)
    ceil = g.v >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[g.op]
    kernel = network.window(g, x.shape[2:], g.v >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[g.op], ceil)
    g.attr(kernel_shape=kernel)
    if g.op == "MaxPool":
        g.outputs = g.int(1, 2)


@own("Resize")
def resize(g):
    if g.v < 11:
        raise Illegal("one form only")
    x = g.x(rank=(1, 4), least=1)
    outer = max(0, x.ndim - 2)
    g.attr(mode="nearest", coordinate_transformation_mode=g.pick(["half_pixel", "asymmetric", "align_corners"]), nearest_mode=g.pick(["floor", "round_prefer_floor"]))
    axes = list(range(outer, x.ndim)) if g.v >= 18 and g.flip(0.4) else list(range(x.ndim))
    if len(axes) < x.ndim or g.v >= 18 and g.flip(0.2):
        g.attr(axes=[a - x.ndim if g.flip(0.3) else a for a in axes])
    g.bound.setdefault("T2", F32)
    g.x(value=np.zeros(0, "f4"), const=True) if g.v < 13 else g.skip()
    if g.flip():
        scales = [1.0 if a < outer else g.pick([0.5, 0.6, 1.0, 1.3, 2.0, 2.5, 3.0]) for a in axes]
        g.x(value=np.array(scales))
    else:
        g.skip() if g.v >= 13 else g.x(value=np.zeros(0, "f4"), const=True)
        g.x(value=[x.shape[a] if a < outer else g.int(1, 9) for a in axes], dtype=I64)
        if g.v >= 18:
            g.maybe(0.3, keep_aspect_ratio_policy=g.pick(["not_larger", "not_smaller"]))


@own("MatMul")
def matmul(g):
    a = g.x(rank=(1, 4))
    if not a.ndim:
        raise Illegal("a scalar")
    k = a.shape[-1]
    b = [n for n in g.graph.tensors(g.t, (1, 4), lambda b: b.shape[max(0, b.ndim - 2)] == k and joined(a.shape[:-2], b.shape[:-2]) is not None)]
    if b and g.flip(0.6):
        g.operands.append(g.pick(b))
    else:
        g.x(g.pick([(k,), (k, g.dim(1)), a.shape[:-2] + (k, g.dim())]))


@own("Gemm")
def gemm(g):
    a = g.x(rank=(2, 2), least=1)
    ta, tb = g.int(0, 1), g.int(0, 1)
    m, k = a.shape[::-1] if ta else a.shape
    n = g.dim(1)
    g.x((n, k) if tb else (k, n))
    if g.v < 11 or g.flip(0.7):
        g.x(g.pick([(m, n), (1, n), (n,), (m, 1), (1,), ()]))
    g.attr(transA=ta, transB=tb)


@own("Concat")
def concat(g):
    x = g.x(rank=(1, 4))
    axis = g.int(0, x.ndim - 1)
    same = g.graph.tensors(g.t, (x.ndim, x.ndim), lambda b: all(i == axis or b.shape[i] == x.shape[i] for i in range(x.ndim)))
    for _ in range(g.int(0, 3)):
        g.operands.append(g.pick(same)) if g.flip(0.7) and same else g.x(x.shape[:axis] + (g.dim(),) + x.shape[axis + 1:])
    g.attr(axis=axis - x.ndim if g.v >= 11 and g.flip(0.3) else axis)


@own("Split")
def split(g):
    x = g.x(rank=(1, 4))
    axis = g.int(0, x.ndim - 1)
    d = x.shape[axis]
    g.attr(axis=axis)
    n = g.outputs = g.int(1, 4)
    if g.v >= 18 and g.flip(0.4):
        g.attr(num_outputs=n)
    elif d % n == 0 and g.flip(0.4) and g.v < 18:
        return
    else:
        cuts = sorted(g.int(0, d) for _ in range(n - 1))
        sizes = [b - a for a, b in zip([0] + cuts, cuts + [d])]
        g.x(value=sizes, dtype=I64) if g.v >= 13 else g.attr(split=sizes)


@own("Einsum")
def einsum(g):
    a = g.x(rank=(1, 3))
    letters = "ijk"[:a.ndim]
    if g.flip(0.3):
        out = "".join(c for c in letters if g.flip(0.7))
        g.attr(equation="%s->%s" % (letters, out) if g.flip(0.7) else "...%s->...%s" % (letters[-1], letters[-1]))
        return
    kept = [c for c in letters if g.flip()]
    other = kept + ["m"] * g.int(0, 1)
    sizes = dict(zip(letters, a.shape), m=g.dim(1))
    g.x(tuple(sizes[c] for c in other))
    out = [c for c in "ijkm" if c in letters + "".join(other) and g.flip(0.7)]
    g.attr(equation="%s,%s->%s" % (letters, "".join(other), "".join(out)))


@own("LayerNormalization", "RMSNormalization")
def norm(g):
    x = g.x(rank=(1, 4), least=1)
    axis = g.int(0, x.ndim - 1)
    g.attr(axis=axis)
    g.x(x.shape[axis:])


# --- one operator ---
def version_of(op, opset):
    versions = draw.SCHEMAS.get(("", op), {})
    fitting = [v for v in versions if v <= opset]
    return max(fitting) if fitting else None


def by_recipe(graph, op=None):
    if op is None:
        op = graph.pick(SHAPE_OPS if graph.flip(0.55) else sorted(o for d, o in draw.RECIPES if d == "" and o not in ELSEWHERE))
    version = version_of(op, graph.opset)
    if version is None or draw.SCHEMAS["", op][version].deprecated:
        raise Illegal("not in this opset")
    schema = draw.SCHEMAS["", op][version]
    _, words = draw.primary(schema)
    words = [w for w in words if NAMES.get(w) in TYPES and (op, version, w) not in REFUSED]
    if not words:
        raise Illegal("no type")
    weight = {"float": 8, "int64": 6 if op in SHAPE_OPS else 2}
    weights = np.array([weight.get(w, 0.4) for w in words])
    word = words[int(graph.rng.choice(len(words), p=weights / weights.sum()))]
    it = Grown(graph, op, "", version, NAMES[word], graph.rng, schema)
    variable, _ = draw.primary(schema)
    if variable:
        it.bound[variable] = NAMES[word]
    function, _, outputs = draw.RECIPES["", op]
    it.outputs = outputs
    OWN.get(op, function)(it)
    if it.prelude:
        raise Illegal("a recipe with nodes of its own")
    try:
        graph.add(op, it.operands, it.n_outputs(), **it.attrs)
    except Illegal as e:
        if "NOT_IMPLEMENTED" in str(e):
            REFUSED.add((op, version, word))
        raise


# --- bodies ---
def info(name, dtype, rank):
    return helper.make_tensor_value_info(name, dtype, None if rank is None else [None] * rank)


class Body:
    """Nodes of a body, over one tensor of known rank; constants are the outer graph's."""

    def __init__(self, graph, name, dtype, rank):
        self.graph, self.nodes, self.at, self.dtype, self.rank = graph, [], name, dtype, rank

    def put(self, op, *operands, **attrs):
        out = self.graph.name("b")
        self.nodes.append(helper.make_node(op, [self.at, *operands], [out], name=self.graph.name("n") + "_" + op, **attrs))
        self.at = out

    def step(self):
        g, k = self.graph, self.graph.int(0, 9)
        axis = g.int(0, max(0, self.rank - 1))
        if k == 0 or not self.rank:
            self.put("Identity" if self.dtype in (BOOL, TensorProto.STRING, *UNSIGNED) else g.pick(["Neg", "Abs", "Identity"]))
        elif k == 1:
            self.put("Transpose", perm=g.rng.permutation(self.rank).tolist())
        elif k == 2:
            self.put("Concat", self.at, axis=axis)
        elif k == 3 and g.opset >= 10:
            self.put("Slice", *g.pick([(g.ints(1), g.ints(2**31 - 1)), (g.ints(0), g.ints(-1)), (g.ints(0), g.ints(2))]), g.ints(axis))
        elif k == 4 and g.opset >= 10:
            self.put("Slice", g.ints(-1), g.ints(-2**31), g.ints(axis), g.ints(g.pick([-1, -2])))
        elif k == 5:
            self.put("Reshape", g.const(np.array(g.pick([[-1], [0, -1], [-1, 1]])[:self.rank + 1], "i8")))
            self.rank = None
        elif k == 6 and g.opset >= 13:
            self.put("Unsqueeze", g.ints(axis))
            self.rank += 1
        elif k == 7:
            self.put("Gather", g.ints(0), axis=axis)
        elif k == 8:
            self.put("Tile", g.const(np.array([g.int(0, 2) if i == axis else 1 for i in range(self.rank)], "i8")))
        else:
            self.put("Flatten", axis=axis)
            self.rank = 2

    def steps(self, n):
        for _ in range(n):
            if self.rank is not None:
                self.step()
        return self


def some_tensor(graph, ranks=(0, 4), types=(F32, F32, I64)):
    ready = graph.tensors(graph.pick(types), ranks, lambda a: a.size <= 200)
    if not ready:
        raise Illegal("nothing to take")
    return graph.pick(ready)


def condition(graph):
    if graph.flip(0.3):
        return graph.input(np.array(graph.flip()), BOOL, "data")
    ready = graph.tensors(BOOL, (0, 1), lambda a: a.size == 1)
    if ready and graph.flip(0.4):
        return graph.pick(ready)
    if graph.opset < 9:
        raise Illegal("no integer comparison")
    return graph.calc(*graph.pick([("Less", np.less), ("Equal", np.equal), ("Greater", np.greater)]), graph.some_number(), graph.ints(graph.int(0, 5)))


def step_if(graph):
    a = some_tensor(graph)
    kind = dtype_of(graph.get(a))
    alike = graph.tensors(kind, (0, 4), lambda v: v.ndim == graph.get(a).ndim or graph.flip(0.1))
    branches = {}
    for branch, name in (("then_branch", a), ("else_branch", graph.pick(alike))):
        body = Body(graph, name, kind, graph.get(name).ndim).steps(graph.int(0, 2))
        if body.at == name:
            body.put("Identity")
        branches[branch] = helper.make_graph(body.nodes, branch, [], [helper.make_tensor_value_info(body.at, kind, None)])
    graph.add("If", [condition(graph)], **branches)


def step_loop(graph):
    s = some_tensor(graph, (0, 3))
    kind, rank = dtype_of(graph.get(s)), graph.get(s).ndim
    i, c, state = graph.name("i"), graph.name("c"), graph.name("s")
    body = Body(graph, state, kind, rank).steps(graph.int(0, 2))
    if body.rank != rank:
        body = Body(graph, state, kind, rank)
    if body.at == state:
        body.put("Identity")
    after = body.at
    scanned, going = graph.name("b"), graph.name("b")
    nodes = body.nodes
    made = graph.pick(["i", "i", "shape", "state"])
    nodes.append({"i": lambda: helper.make_node("Identity", [i], [scanned]), "shape": lambda: helper.make_node("Shape", [state], [scanned]),
                  "state": lambda: helper.make_node("Identity", [after], [scanned])}[made]())
    ends = graph.flip(0.3) and graph.opset >= 9
    nodes.append(helper.make_node("Less", [i, graph.ints(graph.int(0, 4))], [going + "_"]) if ends else helper.make_node("Identity", [c], [going]))
    if ends:
        nodes.append(helper.make_node("Reshape", [going + "_", graph.const(np.zeros(0, "i8"))], [going]))
    declared = rank if graph.flip() else None
    inner = helper.make_graph(nodes, "body", [helper.make_tensor_value_info(i, I64, []), helper.make_tensor_value_info(c, BOOL, []), info(state, kind, declared)],
                              [helper.make_tensor_value_info(going, BOOL, []), helper.make_tensor_value_info(after, kind, None), helper.make_tensor_value_info(scanned, I64 if made != "state" else kind, None)])
    trips = graph.numbers(np.array(graph.int(0, 4))) if graph.flip(0.9) else ""
    if not trips and not ends:
        raise Illegal("no end")
    graph.add("Loop", [trips, "" if graph.flip(0.6) else graph.const(np.array(True)), s], 2, body=inner)


def step_scan(graph):
    if graph.opset < 9:
        raise Illegal("batched form")
    x = some_tensor(graph, (1, 4), (F32,))
    shape = graph.get(x).shape
    axis = graph.int(0, len(shape) - 1)
    inner = shape[:axis] + shape[axis + 1:]
    state = graph.const(np.float32(0)) if not inner else graph.shaped(inner, F32, values=lambda s, *_: np.zeros(s, "f4"))
    s, e, s2, y = (graph.name("b") for _ in range(4))
    body = [helper.make_node("Add", [s, e], [s2])]
    scanned = Body(graph, s2, F32, len(inner)).steps(graph.int(0, 2))
    if scanned.at == s2:
        scanned.put("Identity")
    attrs = {"scan_input_axes": [axis]} if axis or graph.flip(0.2) else {}
    if graph.flip(0.3):
        attrs["scan_input_directions"] = [1]
    if scanned.rank is not None and graph.flip(0.3):
        attrs["scan_output_axes"] = [graph.int(0, scanned.rank)]
    g = helper.make_graph(body + scanned.nodes, "body", [info(s, F32, len(inner)), info(e, F32, len(inner))],
                          [info(s2, F32, len(inner)), helper.make_tensor_value_info(scanned.at, F32, None)])
    graph.add("Scan", [state, x], 2, body=g, num_scan_inputs=1, **attrs)


# --- sequences ---
def step_sequence(graph):
    if graph.opset < 11:
        raise Illegal("no sequences")
    ready = [n for n, v in graph.values.items() if isinstance(v, list)]
    k = graph.int(0, 8)
    if not ready or k == 0:
        if graph.flip():
            x = some_tensor(graph)
            alike = graph.tensors(dtype_of(graph.get(x)), (0, 4), lambda a: a.ndim == graph.get(x).ndim or graph.flip(0.2))
            return graph.add("SequenceConstruct", [x] + [graph.pick(alike) for _ in range(graph.int(0, 2))])
        x = some_tensor(graph, (1, 4))
        axis = graph.int(0, graph.get(x).ndim - 1)
        parts = [] if graph.flip() else [graph.numbers(np.array(graph.int(1, 3)))]
        attrs = {} if parts else {"keepdims": graph.int(0, 1)}
        return graph.add("SplitToSequence", [x] + parts, axis=axis, **attrs)
    s = graph.pick(ready)
    items = graph.values[s]
    n = len(items)
    if k <= 2 and n:
        return graph.add("SequenceAt", [s, graph.numbers(np.array(graph.int(-n, n - 1)))])
    if k == 3 and n:
        return graph.add("SequenceErase", [s] + ([] if graph.flip() else [graph.numbers(np.array(graph.int(0, n - 1)))]))
    if k == 4:
        kind = dtype_of(items[0]) if n else F32
        x = some_tensor(graph, types=(kind,))
        return graph.add("SequenceInsert", [s, x] + ([] if graph.flip() else [graph.numbers(np.array(graph.int(0, n)))]))
    if k == 5:
        return graph.add("SequenceLength", [s])
    if not n or items[0].ndim == 0:
        raise Illegal("nothing to join")
    axis = graph.int(-items[0].ndim, items[0].ndim - 1)
    return graph.add("ConcatFromSequence", [s], axis=axis, new_axis=graph.int(0, 1))


def step_consumer(graph):
    """An operator that takes a shape or a size, of numbers that the graph computes."""
    op = graph.pick(["Reshape", "Expand", "ConstantOfShape", "Range", "Slice", "Tile", "Pad", "TopK", "Split", "Resize", "OneHot", "Trilu", "CenterCropPad", "Gather"])
    by_recipe(graph, op)


def step_network(graph):
    by_recipe(graph, graph.pick(["Conv", "MaxPool", "AveragePool", "ConvTranspose", "Resize", "MatMul", "Gemm", "LayerNormalization", "BatchNormalization",
                                 "GlobalAveragePool", "DepthToSpace", "SpaceToDepth", "Softmax", "Einsum", "LpPool", "Attention"]))


STEPS = ((30, by_recipe), (22, step_consumer), (16, step_network), (3, step_if), (3, step_loop), (2, step_scan), (5, step_sequence))
ODDS = np.array([w for w, _ in STEPS]) / sum(w for w, _ in STEPS)


def first_inputs(graph):
    for _ in range(graph.int(1, 3)):
        rank = graph.pick([1, 2, 2, 3, 3, 4, 4])
        dims = tuple(graph.pick([1, 2, 2, 3, 3, 4, 5, 6, 7, 8] + [0] * graph.flip(0.05)) for _ in range(rank))
        kind = graph.pick([F32] * 6 + [I64, TensorProto.DOUBLE, TensorProto.INT32, BOOL])
        maker = draw.Draw("", "", 0, kind, graph.rng)
        low, high = (-2, 4) if kind in INTS else (None, None)
        graph.input(maker.values(dims, kind, low, high), kind, "data", low, high)


def grow(rng):
    """A graph of 3 to 30 nodes, most of them small."""
    budget = 3 + int(min(27, rng.exponential(9)))
    graph = Graph(rng, int(rng.choice(OPSETS)), budget)
    first_inputs(graph)
    for _ in range(3 * budget):
        if len(graph.nodes) >= budget:
            break
        kept = dict(graph.values), list(graph.nodes), dict(graph.inputs), dict(graph.constants), dict(graph.symbols)
        try:
            STEPS[int(rng.choice(len(STEPS), p=ODDS))][1](graph)
        except (Illegal, ValueError, IndexError, TypeError, KeyError, ZeroDivisionError, OverflowError) as e:
            graph.values, graph.nodes, graph.inputs, graph.constants, graph.symbols = kept
    return graph
