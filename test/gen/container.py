"""Recipes: control flow, sequences, optionals, random numbers, windows."""
import numpy as np
from onnx import TensorProto, helper

from draw import FLOATS, INTS, NAMES, Illegal, as_tensor, np_type, recipe

I64, BOOL = TensorProto.INT64, TensorProto.BOOL
info = helper.make_tensor_value_info


SIGNED = FLOATS | {NAMES[w] for w in ("int32", "int64")} - {TensorProto.BFLOAT16}


def graph(name, nodes, ins, outs, constants=()):
    return helper.make_graph(nodes, name, ins, outs, list(constants))


@recipe("If")
def if_(g):
    t = NAMES[g.pick([w[7:-1] for w in g.allowed("V") if w.startswith("tensor(")])]
    g.bound["V"] = t
    a = g.values(g.dims((1, 3)), t)
    names = [g.feed("a", a, t), g.feed("b", g.values(a.shape if g.flip() else g.dims(a.ndim), t), t)]
    node = g.pick(["Identity", "Neg", "Abs"]) if t in SIGNED else "Identity"
    g.attr(then_branch=graph("then", [helper.make_node(node, [names[0]], ["p"])], [], [info("p", t, None)]),
           else_branch=graph("else", [helper.make_node("Identity", [names[1]], ["q"])], [], [info("q", t, None)]))
    g.x(g.pick([(), (1,)]))


@recipe("Loop")
def loop(g):
    """State s = s + i (s, where the type has no sum) as long as the condition holds; scanned out: s."""
    trips, limit = g.int(0, 5), g.int(0, 5)
    t = TensorProto.FLOAT if g.flip(0.3) else NAMES[g.pick([w[7:-1] for w in g.allowed("V") if w.startswith("tensor(")])]
    g.bound["V"] = t
    a = g.values(g.dims((0, 3)), t)
    step = [helper.make_node("Cast", ["i"], ["fi"], to=t), helper.make_node("Add", ["s", "fi"], ["s2"])]
    body = [*(step if t in SIGNED else [helper.make_node("Identity", ["s"], ["s2"])] * 2)[:2],
            helper.make_node("Less", ["i", "limit"], ["c2"]), helper.make_node("Identity", ["s2"], ["scan"])]
    if t not in SIGNED:
        del body[0]
    g.feed("limit", np.array(limit, "i8"), I64)
    ends = g.flip()
    if not ends:
        body[-2] = helper.make_node("Identity", ["c"], ["c2"])
    g.attr(body=graph("body", body, [info("i", I64, []), info("c", BOOL, []), info("s", t, a.shape if g.flip() else [None] * a.ndim)],
                      [info("c2", BOOL, []), info("s2", t, None), info("scan", t, None)]))
    no_trips = ends and g.flip(0.3)
    g.skip() if no_trips else g.add(np.array(trips, "i8"), I64)
    g.skip() if g.flip(0.3) else g.add(np.array(g.flip(0.8)), BOOL)
    g.add(a, t)
    g.outputs = 2


def scan_8(g):
    """The first form: every operand has a batch axis; operand 0 are the lengths of the batches."""
    batch, length, shape, t = g.int(1, 3), g.int(1, 4), list(g.dims((0, 2))), g.bound["V"] if "V" in g.bound else None
    t = t or NAMES[g.pick([w[7:-1] for w in g.allowed("V")])]
    g.bound["V"] = t
    body = [helper.make_node("Add", ["s", "x"], ["s2"]), helper.make_node("Mul", ["s2", "x"], ["y"])]
    if t not in SIGNED:
        body = [helper.make_node("Identity", ["x"], ["s2"]), helper.make_node("Identity", ["s"], ["y"])]
    g.attr(body=graph("body", body, [info("s", t, shape), info("x", t, shape)], [info("s2", t, shape), info("y", t, shape)]), num_scan_inputs=1)
    g.maybe(directions=[g.int(0, 1)])
    g.add(g.rng.integers(1, length + 1, batch), I64) if g.flip(0.3) else g.skip()
    g.add(g.values([batch] + shape, t), t)
    g.add(g.values([batch, length] + shape, t), t)
    g.outputs = 2


@recipe("Scan")
def scan(g):
    if g.v < 9:
        return scan_8(g)
    length, shape = g.int(1, 4), list(g.dims((0, 2)))
    back = g.int(0, 1)
    axis, out_axis = g.int(0, len(shape)), g.int(0, len(shape))
    F = g.bound["V"]
    body = [helper.make_node("Add", ["s", "x"], ["s2"]), helper.make_node("Mul", ["s2", "x"], ["y"])]
    if F not in SIGNED:
        body = [helper.make_node("Identity", ["x"], ["s2"]), helper.make_node("Identity", ["s"], ["y"])]
    g.attr(body=graph("body", body, [info("s", F, shape), info("x", F, shape)], [info("s2", F, shape), info("y", F, shape)]), num_scan_inputs=1)
    g.maybe(scan_input_directions=[back])
    g.maybe(scan_output_directions=[g.int(0, 1)])
    if axis:
        g.attr(scan_input_axes=[axis])
    if out_axis:
        g.attr(scan_output_axes=[out_axis])
    g.add(g.values(shape, F), F)
    g.add(g.values(shape[:axis] + [length] + shape[axis:], F), F)
    g.outputs = 2


def element_type(g):
    return g.t_first()


def some_tensors(g, low=0, alike=False):
    shape = g.dims((0, 3), 1)
    return [g.values(shape if alike else g.dims((len(shape), len(shape))), element_type(g)) for _ in range(g.int(low, 4))]


@recipe("SequenceConstruct")
def sequence_construct(g):
    for a in some_tensors(g, 1):
        g.add(a, element_type(g))


@recipe("SequenceEmpty")
def sequence_empty(g):
    words = [w for w in NAMES if "seq(tensor(%s))" % w in g.schema.type_constraints[0].allowed_type_strs]
    g.attr(dtype=NAMES[g.pick(words)])


@recipe("SequenceLength")
def sequence_length(g):
    g.sequence(some_tensors(g), element_type(g))


@recipe("SequenceAt")
def sequence_at(g):
    items = some_tensors(g, 1)
    g.sequence(items, element_type(g))
    g.x((), low=-len(items), high=len(items) - 1, dtype=g.pick([I64, TensorProto.INT32]))


@recipe("SequenceErase")
def sequence_erase(g):
    items = some_tensors(g, 1)
    g.sequence(items, element_type(g))
    if g.flip(0.7):
        g.x((), low=-len(items), high=len(items) - 1, dtype=g.pick([I64, TensorProto.INT32]))


@recipe("SequenceInsert")
def sequence_insert(g):
    items = some_tensors(g)
    g.sequence(items, element_type(g))
    g.add(g.values(g.dims((0, 3)), element_type(g)), element_type(g))
    if g.flip(0.7):
        g.x((), low=-len(items), high=len(items), dtype=g.pick([I64, TensorProto.INT32]))


@recipe("ConcatFromSequence")
def concat_from_sequence(g):
    new = g.int(0, 1)
    shape = list(g.dims((0 if new else 1, 3)))
    rank = len(shape)
    axis = g.int(-rank - new, rank - 1 + new)
    items = []
    for _ in range(g.int(1, 3)):
        if not new:
            shape[axis] = g.dim()
        items.append(g.values(shape, element_type(g)))
    g.sequence(items, element_type(g))
    g.attr(axis=axis)
    g.maybe(new_axis=new) if not new else g.attr(new_axis=new)


@recipe("SplitToSequence")
def split_to_sequence(g):
    x = g.x(rank=(1, 3), least=1)
    axis = g.axis(x.ndim)
    g.maybe(axis=axis) if axis in (0, -x.ndim) else g.attr(axis=axis)
    d = x.shape[axis]
    how = g.int(0, 2)
    if how == 0:
        g.maybe(keepdims=g.int(0, 1))
    elif how == 1:
        g.x((), value=g.int(1, d + 1))
    else:
        sizes = []
        while sum(sizes) < d:
            sizes.append(g.int(1, d - sum(sizes)))
        g.x(value=sizes)


@recipe("Optional", "OptionalHasElement", "OptionalGetElement")
def optional(g):
    a = g.values(g.dims((0, 3)), element_type(g))
    if g.op == "Optional":
        g.add(a, element_type(g))
        return
    if g.v < 18 or g.flip():
        g.prelude.append(helper.make_node("Optional", [g.feed("a", a, element_type(g))], ["x0"]))
        g.operands.append("x0")
    else:
        g.add(a, element_type(g))


@recipe("SequenceMap")
def sequence_map(g):
    F = TensorProto.FLOAT
    items = [g.values(g.dims((0, 2)), F) for _ in range(g.int(1, 3))]
    g.sequence(items, F)
    g.attr(body=graph("body", [helper.make_node("Neg", ["e"], ["r"])], [info("e", F, None)], [info("r", F, None)]))


@recipe("RandomNormal", "RandomUniform")
def random_(g):
    g.attr(shape=list(g.dims((1, 4), 1)), dtype=g.t_first())
    g.maybe(seed=3.0)


@recipe("RandomNormalLike", "RandomUniformLike")
def random_like(g):
    g.x(least=1)
    words = [w for w in g.words_of("T2") if w != "string"]
    g.bound["T2"] = NAMES[g.pick(words)]
    g.attr(dtype=g.bound["T2"])


@recipe("Multinomial")
def multinomial(g):
    g.x((g.dim(1), g.dim(1)))
    g.bound["T2"] = g.pick([I64, TensorProto.INT32])
    g.attr(dtype=g.bound["T2"], sample_size=g.int(1, 4))


@recipe("Bernoulli")
def bernoulli(g):
    g.x(low=0, high=1)
    g.bound["T2"] = NAMES[g.pick(g.words_of("T2"))]
    g.attr(dtype=g.bound["T2"])


@recipe("HannWindow", "HammingWindow", "BlackmanWindow")
def window(g):
    g.x((), value=g.int(1, 12))
    g.maybe(periodic=g.int(0, 1))
    t = NAMES[g.pick(g.words_of("T2"))]
    g.bound["T2"] = t
    g.attr(output_datatype=t)
    g.tolerance = 4


@recipe("MelWeightMatrix")
def mel(g):
    for v in (g.int(1, 6), g.pick([8, 16, 20]), g.pick([8000, 16000])):
        g.x((), value=v)
    g.bound["T2"] = NAMES[g.pick(g.words_of("T2"))]
    g.x((), value=g.pick([0.0, 50.0]))
    g.x((), value=g.pick([2048.0, 4096.0]))
    g.bound["T3"] = NAMES[g.pick(g.words_of("T3"))]
    g.attr(output_datatype=g.bound["T3"])


@recipe("DFT")
def dft(g):
    kind = g.t_first()
    one_sided = g.int(0, 1)
    rank = g.int(3, 4)
    inverse = 0 if one_sided and g.v < 20 else g.int(0, 1)
    inverse = 0 if one_sided else inverse
    x = g.x(g.dims(rank - 1, 1, 7) + (g.pick([1, 2]) if not one_sided else 1,))
    axis = g.int(-rank, rank - 2)
    axis = rank - 2 if axis == -1 else axis
    if g.flip():
        g.bound["T2"] = NAMES[g.pick(["int32", "int64"])]
        g.x((), value=g.int(1, 9))
    else:
        g.skip()
    if g.v < 20:
        g.attr(axis=axis)
    else:
        g.add(np.array(axis, "i8"), I64, const=g.flip(0.8))
    g.maybe(inverse=inverse) if not inverse else g.attr(inverse=1)
    if one_sided:
        g.attr(onesided=1)
    g.tolerance = 4


@recipe("STFT")
def stft(g):
    frame, step = g.int(2, 6), g.int(1, 4)
    one_sided = g.int(0, 1)
    x = g.x((g.dim(1, 3), g.int(frame, 16), 1 if one_sided else g.pick([1, 2])))
    g.x((), value=step)
    both = g.flip()
    g.x((frame,)) if both or g.flip() else g.skip()
    if both or g.operands[-1] == "":
        g.x((), value=frame)
    g.attr(onesided=one_sided)
    g.tolerance = 4
