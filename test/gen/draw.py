"""Random one-node models with legal inputs: draw(op, domain, opset, dtype, rng).

Types, ports and versions come from onnx.defs; what is legal beyond them is one recipe per operator, registered with
@recipe in the files of this folder. A recipe gets a Draw and calls x() once per operand, in the schema's order."""
import importlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MICROSOFT, ML = "com.microsoft", "ai.onnx.ml"
FAMILIES = ("elementwise", "layout", "reduction", "network", "quantized", "container", "text", "learning", "microsoft")
RECIPES = {}

NAMES = {  # element types by the schema's word
    "float": TensorProto.FLOAT, "double": TensorProto.DOUBLE, "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16, "bool": TensorProto.BOOL, "string": TensorProto.STRING,
    "complex64": TensorProto.COMPLEX64, "complex128": TensorProto.COMPLEX128,
    "float8e4m3fn": TensorProto.FLOAT8E4M3FN, "float8e4m3fnuz": TensorProto.FLOAT8E4M3FNUZ,
    "float8e5m2": TensorProto.FLOAT8E5M2, "float8e5m2fnuz": TensorProto.FLOAT8E5M2FNUZ,
    "float8e8m0": TensorProto.FLOAT8E8M0, "float4e2m1": TensorProto.FLOAT4E2M1,
    **{n: getattr(TensorProto, n.upper()) for n in ("int2", "uint2", "int4", "uint4", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")}}
WORDS = {number: word for word, number in NAMES.items()}
FLOATS = {NAMES[n] for n in ("float", "double", "float16", "bfloat16")}
SMALL_FLOATS = {n for w, n in NAMES.items() if w.startswith(("float8", "float4"))}
UNSIGNED = {n for w, n in NAMES.items() if w.startswith("uint")}
INTS = {n for w, n in NAMES.items() if w.startswith("int")} | UNSIGNED
# Types that numpy does not have travel in a wider one and are cast inside of the model.
CARRIER = {n: TensorProto.FLOAT for n in SMALL_FLOATS | {TensorProto.BFLOAT16}}
CARRIER.update({NAMES["int2"]: TensorProto.INT8, NAMES["int4"]: TensorProto.INT8, NAMES["uint2"]: TensorProto.UINT8, NAMES["uint4"]: TensorProto.UINT8})


def np_type(dtype):
    return np.dtype(object) if dtype == TensorProto.STRING else np.dtype(helper.tensor_dtype_to_np_dtype(dtype))


def recipe(*names, domain="", types=None, outputs=None):
    """types: element types by word, for operators that onnx.defs does not have."""
    def register(function):
        for name in names:
            RECIPES[domain, name] = (function, types, outputs)
        return function
    return register


def load_recipes():
    for family in FAMILIES:
        importlib.import_module(family)
    return RECIPES


def tensor_words(strings):
    return [s[7:-1] for s in strings if s.startswith("tensor(")]


class Illegal(Exception):
    """The recipe has nothing to draw for this version and type."""


class Draw:
    def __init__(self, op, domain, version, dtype, rng, schema=None):
        self.op, self.domain, self.v, self.rng, self.schema = op, domain, version, rng, schema
        self.t = dtype  # element type of the row
        self.operands, self.attrs, self.prelude, self.outputs = [], {}, [], None
        self.inputs, self.constants = {}, {}  # what is fed; what the file holds
        self.input_types, self.graph_types, self.opset_ml = {}, {}, 5
        self.bound = {}
        self.tolerance = 1.0  # factor on the class's, where the draw's condition asks for it

    # --- chance ---
    def flip(self, p=0.5):
        return bool(self.rng.random() < p)

    def int(self, low, high):
        return int(self.rng.integers(low, high + 1))

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def dim(self, low=0, high=5):
        return self.pick([d for d in (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 9) if low <= d <= high])

    def dims(self, rank, low=0, high=5):
        rank = self.int(*rank) if isinstance(rank, tuple) else rank
        return tuple(self.dim(low, high) for _ in range(rank))

    def axis(self, rank, since=1):
        """since: the version that allows negative numbers."""
        return self.int(-rank if self.v >= since else 0, rank - 1)

    def axes(self, rank, since=1, least=0):
        chosen = self.rng.permutation(rank)[:self.int(least, rank)].tolist()
        return [a - rank if self.v >= since and self.flip(0.3) else a for a in chosen]

    def narrowed(self, shape):
        """A shape that broadcasts to the given one."""
        cut = self.int(0, len(shape)) if self.flip(0.4) else 0
        return tuple(1 if self.flip(0.25) else d for d in shape[cut:])

    def broadcast(self, n, rank=(0, 4), low=0):
        """n shapes that broadcast together."""
        shape = self.dims(rank, low)
        shapes = [self.narrowed(shape) for _ in range(n - 1)] + [shape]
        self.rng.shuffle(shapes)
        return shapes

    # --- element types ---
    def dtype_of(self, type_text):
        """The element type of a port; type variables are bound when first met."""
        if type_text.startswith(("tensor(", "seq(", "optional(")):
            return NAMES[type_text.rstrip(")").split("(")[-1]]
        if type_text not in self.bound:
            words = self.words_of(type_text)
            if not words:
                raise Illegal(type_text)
            self.bound[type_text] = NAMES[self.pick(words)]
        return self.bound[type_text]

    def allowed(self, variable):
        """The types that the schema allows for a variable, as it spells them."""
        return next((c.allowed_type_strs for c in self.schema.type_constraints if c.type_param_str == variable), [])

    def words_of(self, type_text):
        return [w for w in tensor_words(self.allowed(type_text)) if w in NAMES]

    def bind(self, variable, word):
        """Choose a type variable's type, when the schema allows it."""
        if variable in self.bound:
            return
        if word not in self.words_of(variable):
            raise Illegal(word)
        self.bound[variable] = NAMES[word]

    def t_first(self):
        return self.bound.get(primary(self.schema)[0], self.t) if self.schema else self.t

    def port(self):
        ports = self.schema.inputs
        return ports[min(len(self.operands), len(ports) - 1)]

    # --- operands ---
    def values(self, shape, dtype, low=None, high=None, special=False):
        rng = self.rng
        kind = np_type(dtype)
        if dtype == TensorProto.STRING:
            words = ["", "a", "b", "ab", "A", "Zz", "ü", "a b", "12", "-3.5"]
            return np.array([words[i] for i in rng.integers(0, len(words), int(np.prod(shape)))], dtype=object).reshape(shape)
        if dtype == TensorProto.BOOL:
            return rng.integers(0, 2, shape).astype(bool)
        if dtype in (TensorProto.COMPLEX64, TensorProto.COMPLEX128):
            return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(kind)
        if dtype in INTS:
            info = ml_dtypes.iinfo(kind)
            if special and low is None:
                some = [int(info.min), int(info.max), 0, 1, int(info.min) + 1, int(info.max) // 2]
                base = np.array([some[i] for i in rng.integers(0, len(some), int(np.prod(shape)))], dtype=object).reshape(shape)
                near = rng.integers(max(info.min, -9), min(info.max, 9) + 1, shape)
                return np.where(rng.random(shape) < 0.5, base, near).astype(kind) if shape or True else base
            low = -9 if low is None else low
            high = 9 if high is None else high
            return rng.integers(max(int(low), int(info.min)), min(int(high), int(info.max)) + 1, shape).astype(kind)
        if dtype == NAMES["float8e8m0"]:
            return np.exp2(rng.integers(-6, 6, shape).astype("f4")).astype(kind)
        data = rng.standard_normal(shape) * self.pick([1, 1, 3]) if low is None else rng.uniform(low, high, shape)
        data = np.asarray(data, dtype="f8")
        if special and shape and self.flip(0.3):
            some = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.5, -1.5, 1e-30, 100.0, -100.0, 3e38]
            put = rng.random(shape) < 0.3
            data = np.where(put, np.array(some)[rng.integers(0, len(some), shape)], data)
        with np.errstate(all="ignore"):
            return data.astype("f4").astype(kind) if kind.itemsize < 4 else data.astype(kind)

    def x(self, shape=None, rank=(0, 4), low=None, high=None, special=False, value=None, const=None, dtype=None, least=0, most=5):
        """The next operand. value: exactly these elements; const: True for what must be known when compiling."""
        if dtype is None:
            dtype = self.dtype_of(self.port().type_str) if self.schema else self.t
        if value is None:
            shape = self.dims(rank, least, most) if shape is None else tuple(int(d) for d in shape)
            value = self.values(shape, dtype, low, high, special)
        else:
            value = np.asarray(value, dtype=np_type(dtype))
        return self.add(value, dtype, const)

    def add(self, value, dtype, const=None):
        name = "x%d" % len(self.operands)
        const = self.flip(0.2) if const is None else const
        self.operands.append(self.feed(name, value, dtype, const))
        return value

    def feed(self, name, value, dtype, const=False):
        """Make a value of the model: an input or a constant, through a cast when numpy lacks the type."""
        if dtype not in CARRIER:
            (self.constants if const else self.inputs)[name] = value
            self.input_types[name] = dtype
            return name
        wide = CARRIER[dtype]
        self.feed(name + "_wide", value.astype(np_type(wide)), wide, const)
        self.prelude.append(helper.make_node("Cast", [name + "_wide"], [name], to=dtype))
        return name

    def skip(self):
        self.operands.append("")

    def sequence(self, arrays, dtype, const=None):
        """The next operand: a sequence of tensors."""
        name = "x%d" % len(self.operands)
        if not arrays:
            self.prelude.append(helper.make_node("SequenceEmpty", [], [name], dtype=dtype))
        else:
            parts = [self.feed("%s_%d" % (name, i), a, dtype, self.flip(0.1)) for i, a in enumerate(arrays)]
            self.prelude.append(helper.make_node("SequenceConstruct", parts, [name]))
        self.operands.append(name)

    def attr(self, **attrs):
        self.attrs.update({k: v for k, v in attrs.items() if v is not None})

    def maybe(self, p=0.5, **attrs):
        if self.flip(p):
            self.attr(**attrs)

    # --- the model ---
    def out_types(self):
        """Element type of each output, None where inference has to say."""
        rows = []
        ports = self.schema.outputs if self.schema else []
        for i in range(self.n_outputs()):
            text = ports[min(i, len(ports) - 1)].type_str if ports else ""
            rows.append(self.bound.get(text) or (NAMES.get(text[7:-1]) if text.startswith("tensor(") else None))
        return rows

    def n_outputs(self):
        if self.outputs is not None:
            return self.outputs
        return max(1, self.schema.min_output) if self.schema else 1

    def symbolic_dims(self, name, array):
        return [self.pick([int(d), "%s_%d" % (name, i), None]) for i, d in enumerate(array.shape)]

    def model(self, opset):
        operands = list(self.operands)
        while operands and not operands[-1]:
            operands.pop()
        outs = ["y%d" % i for i in range(self.n_outputs())]
        node = helper.make_node(self.op, operands, outs, name="it", domain=self.domain, **self.attrs)
        nodes, results = self.prelude + [node], list(outs)
        kinds = self.out_types()
        for i, (name, dtype) in enumerate(zip(outs, kinds)):
            if dtype in CARRIER:
                results[i] = name + "_wide"
                nodes.append(helper.make_node("Cast", [name], [results[i]], to=CARRIER[dtype]))
        ins = [helper.make_tensor_value_info(n, self.input_types[n], self.symbolic_dims(n, a)) for n, a in self.inputs.items()]
        initializers = [as_tensor(a, n, self.input_types[n]) for n, a in self.constants.items()]
        graph = helper.make_graph(nodes, "draw", ins, [helper.make_empty_tensor_value_info(r) for r in results], initializers)
        imports = [helper.make_opsetid("", opset)]
        if self.domain:
            imports.append(helper.make_opsetid(self.domain, self.v))
        return helper.make_model(graph, opset_imports=imports, ir_version=10 if opset < 23 else 13 if opset > 25 else 11)


def as_tensor(array, name, dtype):
    if dtype == TensorProto.STRING:
        return helper.make_tensor(name, dtype, array.shape, [s.encode() for s in array.ravel().tolist()])
    return numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)


def schemas(least=7):
    """(domain, name) -> {version: schema}, every version that serves an opset from `least` on."""
    table = {}
    for s in onnx.defs.get_all_schemas_with_history():
        table.setdefault((s.domain, s.name), {})[s.since_version] = s
    for (domain, _), versions in table.items():
        ordered = sorted(versions)
        if domain == "":
            for old, new in zip(ordered, ordered[1:]):
                if new <= least:
                    del versions[old]
    return table


def primary(schema):
    """The type variable that names the rows of an operator, and its element types."""
    used = [i.type_str for i in schema.inputs] + [o.type_str for o in schema.outputs]
    for text in used:
        for c in schema.type_constraints:
            if c.type_param_str == text:
                words = [w for w in tensor_words(c.allowed_type_strs) if w in NAMES]
                if not words:
                    words = [s.rstrip(")").split("(")[-1] for s in c.allowed_type_strs if s.startswith(("tensor(", "seq(tensor", "optional(tensor"))]
                return text, list(dict.fromkeys(w for w in words if w in NAMES))
    return None, ["-"]


def rows(select=None):
    """(domain, op, version, word) of everything that has a recipe."""
    load_recipes()
    table = schemas()
    for (domain, op), (_, types, _) in sorted(RECIPES.items()):
        if select and op not in select:
            continue
        if types:
            yield from ((domain, op, 1, word) for word in types)
            continue
        for version, schema in sorted(table[domain, op].items()):
            if not schema.deprecated:
                yield from ((domain, op, version, word) for word in primary(schema)[1])


def draw(op, domain, version, word, rng, kind=Draw):
    """One draw; its model is .model(opset), what to feed it .inputs."""
    function, types, outputs = RECIPES[domain, op]
    schema = None if types else SCHEMAS[domain, op][version]
    it = kind(op, domain, version, NAMES.get(word), rng, schema)
    it.outputs = outputs
    if schema:
        variable, _ = primary(schema)
        if variable:
            it.bound[variable] = NAMES[word]
    function(it)
    return it


SCHEMAS = schemas()
