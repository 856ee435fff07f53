"""Random graphs over symbolic inputs. A graph grows node by node at one binding of its symbols, the base, at which the
contents of every value are known, so that each new node is legal there: recipes of draw.py choose operands and
attributes, and where they ask for certain integers or a certain shape, that comes from shape arithmetic over what the
graph holds already, as exporters write it."""
import numpy as np
import onnx
from onnx import TensorProto, helper

import draw
import formula
import judge
from draw import CARRIER, INTS, NAMES, WORDS, Illegal, as_tensor, np_type

I64, F32, BOOL = TensorProto.INT64, TensorProto.FLOAT, TensorProto.BOOL
TYPES = {NAMES[w] for w in ("float", "double", "float16", "int64", "int32", "int8", "uint8", "bool", "string")}
MOST = 3000  # elements of one value at the base
IR_VERSIONS = ((23, 10), (26, 11), (99, 13))  # below this opset: this version of the file format


class Input:
    """dims: integers, expressions in symbols, None for a size without a name. kind: how contents vary from binding to
    binding: 'data' at random in [low, high], 'value' near the base's."""

    def __init__(self, array, dtype, dims, kind, low=None, high=None):
        self.array, self.dtype, self.dims, self.kind, self.low, self.high = array, dtype, dims, kind, low, high


def dtype_of(array):
    if array.dtype.kind in "OUS":
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(array.dtype)


def type_proto(name, value):
    if isinstance(value, (list, tuple)):
        kind = dtype_of(np.asarray(value[0])) if value else F32
        return helper.make_tensor_sequence_value_info(name, kind, None)
    return helper.make_tensor_value_info(name, dtype_of(value), value.shape)


def names_used(node):
    """What a node reads, its bodies' captures too."""
    names = [n for n in node.input if n]
    for a in node.attribute:
        for g in [a.g] if a.type == onnx.AttributeProto.GRAPH else a.graphs:
            made = {i.name for i in g.input} | {i.name for i in g.initializer}
            for inner in g.node:
                names += [n for n in names_used(inner) if n not in made]
                made |= set(inner.output)
            names += [o.name for o in g.output if o.name not in made]
    return names


class Graph:
    def __init__(self, rng, opset, budget):
        self.rng, self.opset, self.budget = rng, opset, budget
        self.nodes, self.inputs, self.constants, self.symbols = [], {}, {}, {}
        self.values = {}  # of inputs and results, by name: arrays, lists for sequences
        self.n_names = 0

    # --- chance ---
    def flip(self, p=0.5):
        return bool(self.rng.random() < p)

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def name(self, stem):
        self.n_names += 1
        return "%s%d" % (stem, self.n_names)

    # --- values ---
    def tensors(self, dtype=None, ranks=(0, 5), test=lambda a: True):
        return [n for n, a in self.values.items() if isinstance(a, np.ndarray) and (dtype is None or dtype_of(a) == dtype) and ranks[0] <= a.ndim <= ranks[1] and test(a)]

    def get(self, name):
        return self.constants[name] if name in self.constants else self.values[name]

    def const(self, array):
        name = self.name("c")
        self.constants[name] = np.asarray(array)
        return name

    def ints(self, *numbers):
        return self.const(np.array(numbers, "i8"))

    def symbol_for(self, size):
        """How an input's dim of that size is declared."""
        same = [s for s, v in self.symbols.items() if v == size]
        if same and self.flip(0.45):
            return self.pick(same)
        if self.symbols and self.flip(0.2):
            s = self.pick(sorted(self.symbols))
            v = self.symbols[s]
            forms = [(v + size - v, "%s %s %d" % (s, "+" if size >= v else "-", abs(size - v))), (2 * v, "2*%s" % s),
                     (v // 2, "%s//2" % s), ((v + 1) // 2, "(%s + 1)//2" % s)]
            forms += [(v + w, "%s + %s" % (s, q)) for q, w in self.symbols.items() if q != s]
            fitting = [f for value, f in forms if value == size]
            if fitting:
                return self.pick(fitting)
        r = self.rng.random()
        if r < 0.2:
            return size
        if r < 0.28:
            return None
        if len(self.symbols) < 5:
            s = "NSHWKT"[len(self.symbols)]
            self.symbols[s] = size
            return s
        return self.pick(same) if same else size

    def input(self, array, dtype, kind, low=None, high=None):
        name = self.name("x")
        dims = [self.symbol_for(d) for d in array.shape] if kind == "data" or self.flip(0.15) else list(array.shape)
        self.inputs[name] = Input(array, dtype, dims, kind, low, high)
        self.values[name] = array
        return name

    def run(self, node):
        """The node's results, by ONNX Runtime."""
        used = list(dict.fromkeys(names_used(node)))
        feeds = {n: self.values[n] for n in used if n in self.values}
        graph = helper.make_graph([node], "node", [type_proto(n, v) for n, v in feeds.items()],
                                  [helper.make_empty_tensor_value_info(o) for o in node.output if o],
                                  [as_tensor(self.constants[n], n, dtype_of(self.constants[n])) for n in used if n in self.constants])
        return judge.by_runtime(self.finished(graph), feeds)

    def finished(self, graph):
        version = next(v for below, v in IR_VERSIONS if self.opset < below)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=version)

    def add(self, op, operands, n_out=1, calculated=None, **attrs):
        """Adds a node; the names of its results. Illegal when it does not run at the base. calculated: the result, where
        the caller knows it."""
        if len(self.nodes) >= self.budget:
            raise Illegal("enough nodes")
        operands = list(operands)
        while operands and not operands[-1]:
            operands.pop()
        outs = [self.name("v") for _ in range(n_out)]
        node = helper.make_node(op, operands, outs, name=self.name("n") + "_" + op, **attrs)
        try:
            results = [calculated] if calculated is not None else self.run(node)
        except Exception as e:
            raise Illegal(str(e)) from None
        for r in results:
            if isinstance(r, np.ndarray) and r.size > MOST:
                raise Illegal("too large")
        self.nodes.append(node)
        for o, r in zip(outs, results):
            self.values[o] = np.asarray(r) if not isinstance(r, (list, tuple)) else list(r)
        return outs

    def calc(self, op, function, *operands, **attrs):
        """A node of shape arithmetic whose result numpy tells."""
        with np.errstate(all="ignore"):
            result = np.asarray(function(*[self.get(n) for n in operands]))
        return self.add(op, operands, calculated=result, **attrs)[0]

    # --- shape arithmetic ---
    def cast(self, name, dtype):
        kind = np_type(dtype)
        return self.calc("Cast", lambda a: a.astype(kind), name, to=dtype)

    def dim_of(self, name, axis):
        """An int64 tensor of one element: a dim of a value."""
        shape = self.get(name).shape
        if self.opset >= 15 and self.flip(0.4):
            back = self.flip(0.3)
            start = axis - len(shape) if back else axis
            attrs = {"start": start} if start == -1 else {"start": start, "end": start + 1}
            return self.add("Shape", [name], calculated=np.array(shape[axis:axis + 1], "i8"), **attrs)[0]
        whole = self.whole_shape(name)
        if self.flip(0.6):
            index = axis - len(shape) if self.flip(0.3) and self.opset >= 11 else axis
            return self.calc("Gather", lambda a, i: a[i], whole, self.ints(index), axis=0)
        if self.opset < 10:
            return self.add("Slice", [whole], starts=[axis], ends=[axis + 1], axes=[0])[0]
        return self.add("Slice", [whole, self.ints(axis), self.ints(axis + 1), self.ints(0)])[0]

    def whole_shape(self, name):
        for node in self.nodes:
            if node.op_type == "Shape" and node.input[0] == name and not node.attribute and self.flip(0.8):
                return node.output[0]
        return self.add("Shape", [name], calculated=np.array(self.get(name).shape, "i8"))[0]

    def some_number(self):
        """An int64 tensor of one element that depends on the inputs, if there is one."""
        r = self.rng.random()
        if r < 0.3:
            ready = self.tensors(I64, (1, 1), lambda a: a.size == 1 and abs(int(a[0])) < 10**6)
            if ready:
                return self.pick(ready)
        vectors = self.tensors(I64, (1, 1), lambda a: 1 < a.size < 9)
        if r < 0.45 and vectors:
            v = self.pick(vectors)
            return self.calc("Gather", lambda a, i: a[i], v, self.ints(self.int(0, self.get(v).size - 1)), axis=0)
        sources = self.tensors(None, (1, 5))
        if not sources:
            raise Illegal("nothing with dims")
        x = self.pick(sources)
        return self.dim_of(x, self.int(0, self.get(x).ndim - 1))

    def changed(self, t):
        """Another number made of the number t."""
        c = self.int(1, 5)
        k = self.int(0, 13)
        if k == 0:
            return self.calc("Add", np.add, t, self.ints(c))
        if k == 1:
            return self.calc("Sub", np.subtract, *((t, self.ints(c)) if self.flip(0.7) else (self.ints(c), t)))
        if k == 2:
            return self.calc("Mul", np.multiply, t, self.ints(c))
        if k in (3, 4):
            c = self.pick([2, 2, 3, 4, -2])
            return self.calc("Div", lambda a, b: np.trunc(a / b).astype("i8"), t, self.ints(c))
        if k == 5:
            return self.calc("Mod", np.mod, t, self.ints(self.pick([2, 3, 4, 5, -3])))
        if k == 6:
            return self.calc(*self.pick([("Max", np.maximum), ("Min", np.minimum)]), t, self.ints(c)) if self.opset >= 12 else self.calc("Abs", np.abs, t)
        if k in (7, 8):
            op, f = self.pick([("Add", np.add), ("Mul", np.multiply), ("Sub", np.subtract)] + ([("Max", np.maximum), ("Min", np.minimum)] if self.opset >= 12 else []))
            return self.calc(op, f, t, self.some_number())
        if k == 9:
            other = self.some_number()
            less = self.calc("Less", np.less, t, self.pick([self.ints(c), other])) if self.opset >= 9 else None
            return self.calc("Where", np.where, less, t, other) if less else t
        if k == 10:
            other = self.ints(self.int(-1, 4))
            return self.calc("Where", np.where, self.calc("Equal", np.equal, t, other), self.ints(c), t) if self.opset >= 9 else t
        if k in (11, 12):
            return self.through_floats(t)
        return self.calc("Neg", np.negative, t)

    def through_floats(self, t):
        f = self.cast(t, F32)
        how = self.int(0, 3)
        if how < 2:
            f = self.calc("Mul", np.multiply, f, self.const(np.array([self.pick([0.5, 0.25, 1.5, 2.0, 0.7, 3.0])], "f4")))
        elif how == 2:
            f = self.calc("Div", np.divide, f, self.const(np.array([self.pick([2.0, 4.0, 3.0, 8.0])], "f4")))
        else:
            f = self.calc("Sqrt", np.sqrt, f)
        if self.flip(0.8):
            rounds = [("Floor", np.floor), ("Ceil", np.ceil)] + ([("Round", np.round)] if self.opset >= 11 else [])
            f = self.calc(*self.pick(rounds), f)
        if not np.isfinite(self.get(f)).all():
            raise Illegal("not finite")
        return self.cast(f, I64)

    def number(self, n):
        """An int64 tensor of one element that is n at the base."""
        if self.flip(0.2) or len(self.nodes) + 4 > self.budget:
            return self.ints(n)
        t = self.some_number()
        for _ in range(self.pick([0, 0, 1, 1, 2])):
            if int(self.get(t)[0]) != n or self.flip(0.3):
                t = self.changed(t)
        now = int(self.get(t)[0])
        if now == n:
            return t
        if now > 0 and n > 0 and n % now == 0 and self.flip():
            return self.calc("Mul", np.multiply, t, self.ints(n // now))
        if self.flip(0.15) and self.opset >= 9:
            return self.calc("Where", np.where, self.calc("Equal", np.equal, t, self.ints(now)), self.ints(n), t)
        return self.calc("Add", np.add, t, self.ints(n - now))

    def numbers(self, array, dtype=I64):
        """An integer tensor of rank 0 or 1 that is `array` at the base."""
        same = self.tensors(dtype, (array.ndim, array.ndim), lambda a: np.array_equal(a, array))
        if same and self.flip(0.8):
            return self.pick(same)
        r = self.rng.random()
        if r < 0.12:
            return self.input(array.astype(np_type(dtype)), dtype, "value")
        if r < 0.4 or array.size == 0 or array.size > 6:
            return self.const(array.astype(np_type(dtype)))
        if array.ndim == 0:
            name = self.number(int(array))
            name = self.calc("Squeeze", lambda a: a[0], name, **({"axes": [0]} if self.opset < 13 else {})) if self.opset < 13 or self.flip() \
                else self.calc("Reshape", lambda a, s: a.reshape(()), name, self.const(np.zeros(0, "i8")))
        else:
            parts = [self.number(int(v)) for v in array]
            name = parts[0] if len(parts) == 1 else self.add("Concat", parts, calculated=np.concatenate([self.get(p) for p in parts]), axis=0)[0]
        return name if dtype == I64 else self.cast(name, dtype)

    def floats(self, array, dtype):
        """A float tensor with exactly these elements at the base."""
        quarters = np.asarray(array, "f8") * 4
        if array.ndim == 1 and 0 < array.size < 5 and dtype == F32 and (quarters == np.round(quarters)).all() and self.flip(0.4):
            f = self.cast(self.numbers(quarters.astype("i8")), F32)
            return self.calc("Mul", np.multiply, f, self.const(np.array([0.25], "f4")))
        return self.input(array, dtype, "value") if self.flip(0.15) else self.const(array)

    # --- shapes ---
    def shaped(self, shape, dtype, low=None, high=None, values=None):
        """A tensor of that shape at the base."""
        array = values(shape, dtype, low, high)
        r = self.rng.random()
        if r < 0.35:
            return self.input(array, dtype, "data", low, high)
        if r < 0.55 or array.size == 0 or len(shape) > 4 or dtype == TensorProto.STRING or self.opset < 9:
            return self.const(array)
        if r < 0.75 and low is None:
            sources = self.tensors(dtype, (1, 4), lambda a: a.size == array.size)
            if sources:
                target = np.array(shape, "i8")
                if len(shape) and self.flip(0.6):
                    target[self.int(0, len(shape) - 1)] = -1
                return self.add("Reshape", [self.pick(sources), self.numbers(target)])[0]
        if r < 0.9:
            return self.add("Expand", [self.const(array.ravel()[:1].reshape(())), self.numbers(np.array(shape, "i8"))])[0]
        fill = as_tensor(array.ravel()[:1], "fill", dtype)
        return self.add("ConstantOfShape", [self.numbers(np.array(shape, "i8"))], value=fill)[0]

    # --- the model ---
    def model(self):
        ins = [helper.make_tensor_value_info(n, i.dtype, i.dims) for n, i in self.inputs.items()]
        outs = [helper.make_empty_tensor_value_info(o) for n in self.nodes for o in n.output]
        constants = [as_tensor(a, n, dtype_of(a)) for n, a in self.constants.items()]
        used = {n for node in self.nodes for n in names_used(node)}
        return self.finished(helper.make_graph(self.nodes, "grown", ins, outs, [c for c in constants if c.name in used]))


class Grown(draw.Draw):
    """What recipes draw from: operands are values of the graph."""

    def __init__(self, graph, op, domain, version, dtype, rng, schema=None):
        super().__init__(op, domain, version, dtype, rng, schema)
        self.graph = graph

    def dims(self, rank, low=0, high=5):
        rank = self.int(*rank) if isinstance(rank, tuple) else rank
        if self.flip(0.8):
            ready = self.graph.tensors(self.t, (rank, rank), lambda a: all(low <= d <= 9 for d in a.shape))
            if ready:
                return self.graph.values[self.pick(ready)].shape
        return super().dims(rank, low, high)

    def broadcast(self, n, rank=(0, 4), low=0):
        ready = self.graph.tensors(self.t, rank, lambda a: all(d >= low for d in a.shape))
        if not ready or self.flip(0.1):
            return super().broadcast(n, rank, low)
        shape = self.graph.values[self.pick(ready)].shape
        shapes = [shape]
        for _ in range(n - 1):
            others = [s for s in {self.graph.values[r].shape for r in ready} if joined(shape, s) is not None]
            other = self.pick(sorted(others)) if self.flip(0.6) else self.narrowed(shape)
            shapes.append(other)
            shape = joined(shape, other)
            if shape is None:
                raise Illegal("do not broadcast")
        self.rng.shuffle(shapes)
        return [tuple(int(d) for d in s) for s in shapes]

    def x(self, shape=None, rank=(0, 4), low=None, high=None, special=False, value=None, const=None, dtype=None, least=0, most=5):
        if dtype is None:
            dtype = self.dtype_of(self.port().type_str) if self.schema else self.t
        if dtype not in TYPES:
            raise Illegal("element type")
        if value is not None:
            return self.add(np.asarray(value, dtype=np_type(dtype)), dtype, const)
        bounded = low is not None and dtype in INTS

        def fits(a):
            if shape is not None and a.shape != tuple(int(d) for d in shape):
                return False
            if any(d < least for d in a.shape) and shape is None:
                return False
            return not bounded or not a.size or (a.min() >= low and a.max() <= high)
        ready = self.graph.tensors(dtype, rank if shape is None else (0, 5), fits)
        if ready and self.flip(0.92) and not const:
            recent = ready[-4:] if self.flip() else ready
            name = self.pick(recent)
        else:
            wanted = super().dims(rank, least, most) if shape is None else tuple(int(d) for d in shape)
            name = self.graph.const(self.values(wanted, dtype, low, high)) if const else self.graph.shaped(wanted, dtype, low, high, self.values)
        self.operands.append(name)
        return self.graph.get(name)

    def add(self, value, dtype, const=None):
        self.operands.append(self.feed("", value, dtype, const))
        return value

    def feed(self, name, value, dtype, const=False):
        value = np.asarray(value)
        if dtype in CARRIER:
            raise Illegal("element type")
        if const:
            return self.graph.const(value)
        if dtype in (I64, TensorProto.INT32) and value.ndim <= 1:
            return self.graph.numbers(value, dtype)
        if dtype in draw.FLOATS and value.ndim <= 1:
            return self.graph.floats(value, dtype)
        return self.graph.const(value) if self.flip() else self.graph.input(value, dtype, "value")

    def sequence(self, arrays, dtype, const=None):
        raise Illegal("sequences have recipes of their own")


def joined(a, b):
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None
