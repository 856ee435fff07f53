"""The JSON of `tenon infer`: its keys, that an unknown rank is null, and that an unknown dim never occurs: it is a symbol with
bounds, listed with the value and node that it comes from."""
# needs: onnx
import json
import os
import re
import subprocess
import sys
import tempfile

import onnx
from onnx import parser

NAME = re.compile(r'"(?:[^"\\]|\\.)*"|[A-Za-z_][A-Za-z0-9_.]*')
WORDS = {"min", "max", "ceildiv", "bcast", "f32scale", "f32ratio", "select", "and", "or", "not", "overflow"}
HEAD = '<ir_version: 10, opset_import: ["" : 21, "strange" : 1]>\n'

# Sizes that data decides, in a body too; ranks that differ; a dim, a rank and a type that nobody says; a name that is none.
DATA = """
g (float["odd name", M] x, float[N, P] open, float[N] scalar, bool c) => (float[a] y, float[b] z, float[d] w, float[e] v, float[h] u, float[j] s, float[l] f) {
  [find] i = NonZero (x)
  [turn] y = Transpose (i)
  k = Constant <value_ints: ints = [1]> ()
  [choose] z = If (c) <then_branch = then () => (t) { [keep] t = Identity (x) },
                       else_branch = other () => (e) { [wrap] e = Unsqueeze (x, k) }>
  minus = Constant <value_ints: ints = [-1]> ()
  flat = Reshape (x, minus)
  truth = Cast <to: int = 9> (flat)
  [press] w = Compress (x, truth)
  [odd] v = strange.Unheard (x)
  [only] u, where, back, counts = Unique (x)
  [seq] s = SequenceConstruct (x, x)
  scales = Constant <value_floats: floats = [0.7, 1.0]> ()
  [half] f = Resize <mode: string = "nearest"> (x, "", scales)
}
"""


def inferred(model, *args):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(model, path)
        done = subprocess.run([os.environ["TENON"], "infer", path, "--json", *args], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def names_of(text):
    return {json.loads(n) if n[0] == '"' else n for n in NAME.findall(text)} - WORDS


def check_symbols(said):
    for name, facts in said["symbols"].items():
        assert set(facts) - {"at_most"} == {"min", "max", "multiple_of", "from"}, (name, facts)
        assert facts["min"] is None or isinstance(facts["min"], int), (name, facts)
        assert facts["max"] is None or isinstance(facts["max"], int), (name, facts)
        assert facts["multiple_of"] >= 1 and isinstance(facts["from"], str), (name, facts)


def check_values(said):
    for name, value in said["values"].items():
        assert set(value) - {"type"} == {"dtype", "shape"}, (name, value)
        assert ("type" in value) == (value["dtype"] is None and value.get("type") is not None), (name, value)
        for dim in value["shape"] or ():
            assert isinstance(dim, (int, str)) and not isinstance(dim, bool), (name, value)
            unlisted = names_of(dim) - set(said["symbols"]) if isinstance(dim, str) else ()
            assert not unlisted, (name, value, unlisted)


def check(said):
    assert list(said) == ["symbols", "values", "checks", "warnings"], list(said)
    check_symbols(said)
    check_values(said)
    for c in said["checks"]:
        assert set(c) == {"expr", "node", "why"} and all(isinstance(v, str) for v in c.values()), c
        assert names_of(c["expr"]) <= set(said["symbols"]), c
    assert all(isinstance(w, str) for w in said["warnings"])


def source(said, value, at):
    """What is said of the symbol that one dim is."""
    (name,) = names_of(said["values"][value]["shape"][at])
    return said["symbols"][name]


def main():
    model = parser.parse_model(HEAD + DATA)
    model.graph.input[1].type.tensor_type.shape.dim[1].Clear()
    model.graph.input[2].type.tensor_type.ClearField("shape")
    for output in model.graph.output:
        output.ClearField("type")
    said = inferred(model)
    check(said)
    values = said["values"]
    assert values["x"] == {"dtype": "float32", "shape": ['"odd name"', "M"]}, values["x"]
    assert values["scalar"]["shape"] is None and values["z"]["shape"] is None and values["v"] == {"dtype": None, "shape": None}
    assert source(said, "open", 1)["from"] == "dim 1 of input 'open'"
    assert source(said, "y", 0)["from"] == "dim 1 of 'i', node 'find' (NonZero)"
    assert source(said, "y", 0)["at_most"] == '"odd name"*M' or source(said, "y", 0)["at_most"] == 'M*"odd name"'
    assert source(said, "u", 0)["from"] == "dim 0 of 'u', node 'only' (Unique)"
    assert source(said, "w", 0)["from"] == "dim 0 of 'w', node 'press' (Compress)"
    assert values["s"]["dtype"] is None and values["s"]["type"].startswith("seq(f32[")
    assert values["f"]["shape"] == ['f32scale("odd name", 0.7)', "M"], values["f"]
    for path in sys.argv[1:]:
        check(inferred(onnx.load(path)))
    print("as documented")
    return 0


if __name__ == "__main__":
    sys.exit(main())
