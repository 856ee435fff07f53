"""Marks of nodes in ONNX's metadata_props: read, kept by nodes in bodies and functions, refused where they are wrong."""
# needs: onnx
import json
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import TensorProto, helper

TENON = os.environ["TENON"]
failed = 0


def check(ok, label):
    global failed
    failed += not ok
    if not ok:
        print("FAIL", label)


def node(op, inputs, outputs, name, marks=None, **attributes):
    made = helper.make_node(op, inputs, outputs, name=name, **attributes)
    for key, value in (marks or {}).items():
        made.metadata_props.add(key=key, value=value)
    return made


def value(name, shape=(4,), dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def split(nodes, outputs, *options, functions=(), inputs=None):
    """The graphs of the plan, or the message."""
    graph = helper.make_graph(nodes, "main", inputs or [value("x")], [value(o) for o in outputs])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    model = helper.make_model(graph, ir_version=10, opset_imports=opsets, functions=functions)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        onnx.save(model, path)
        done = subprocess.run([TENON, "split", path, "--json", "--min-static-ops", "0", *options], capture_output=True,
                              text=True, timeout=60)
    return json.loads(done.stdout)["graphs"] if done.returncode == 0 else done.stderr


def parts(graph):
    return [(p["kind"], p["stage"], [n["name"] for n in p["nodes"]]) for p in graph["parts"]]


chain = [node("Relu", ["x"], ["a"], "n1", {"tenon.stage": "0", "other": "ignored"}),
         node("Neg", ["a"], ["b"], "n2", {"tenon.force_dynamic": "true"}),
         node("Abs", ["b"], ["y"], "n3", {"tenon.stage": "1"})]
got = split(chain, ["y"])
check(isinstance(got, list) and parts(got[0]) == [("static", 0, ["n1"]), ("dynamic", 1, ["n2"]), ("static", 1, ["n3"])],
      "stage and force_dynamic: %s" % got)

got = split([node("Relu", ["x"], ["a"], "n1", {"tenon.group": "g"}), node("Neg", ["a"], ["b"], "n2"),
             node("Abs", ["b"], ["y"], "n3", {"tenon.group": "g", "tenon.force_dynamic": "1"})], ["y"])
check(isinstance(got, list) and parts(got[0]) == [("dynamic", None, ["n1", "n2", "n3"])], "group: %s" % got)

got = split([node("Relu", ["x"], ["a"], "n1", {"tenon.after": "n2"}), node("Neg", ["x"], ["b"], "n2")], ["a", "b"],
            "--force-dynamic", "n2")
check(isinstance(got, list) and got[0]["edges"] == [{"from": 0, "to": 1, "order_only": True}] and
      parts(got[0]) == [("dynamic", None, ["n2"]), ("static", None, ["n1"])], "after: %s" % got)

# All nodes that a call of a function expands to have its marks; a node of the function keeps its own.
function = helper.make_function("own", "Twice", ["p"], ["r"],
                                [node("Relu", ["p"], ["q"], "f1"), node("Neg", ["q"], ["r"], "f2", {"tenon.stage": "2"})],
                                [helper.make_opsetid("", 21)])
got = split([node("Twice", ["x"], ["y"], "call", {"tenon.stage": "1"}, domain="own")], ["y"], functions=[function])
check(isinstance(got, list) and [p[1] for p in parts(got[0])] == [1, 2], "function: %s" % got)

# Bodies.
then = helper.make_graph([node("Relu", ["x"], ["t"], "in", {"tenon.force_dynamic": "true"})], "then", [], [value("t")])
other = helper.make_graph([node("Neg", ["x"], ["e"], "out")], "else", [], [value("e")])
got = split([node("If", ["c"], ["y"], "if", then_branch=then, else_branch=other)], ["y"],
            inputs=[value("x"), value("c", (), TensorProto.BOOL)])
check(isinstance(got, list) and [parts(g) for g in got] == [
    [("dynamic", None, ["if"])], [("dynamic", None, ["in"])], [("static", None, ["out"])]], "body: %s" % got)

# One operator that becomes several nodes is never cut.
got = split([node("Relu", ["x"], ["a"], "n1"), node("Mish", ["a"], ["b"], "mish"), node("Abs", ["b"], ["y"], "n3")],
            ["y"], "--force-dynamic", "mish")
check(isinstance(got, list) and len(got[0]["parts"]) == 3 and
      {n["name"] for n in got[0]["parts"][1]["nodes"]} == {"mish"}, "origin: %s" % got)

for marks, words in ({"tenon.stage": "x"}, "expected a number"), ({"tenon.force_dynamic": "maybe"}, "expected true or false"), \
        ({"tenon.after": ""}, "expected a name"), ({"tenon.colour": "red"}, "there is no mark tenon.colour"), \
        ({"tenon.after": "nobody"}, "no node 'nobody'"), ({"tenon.after": "n1"}, "cannot come after itself"), \
        ({"tenon.engine": "npu"}, "no engine 'npu'"):
    got = split([node("Relu", ["x"], ["y"], "n1", marks)], ["y"])
    check(isinstance(got, str) and words in got and "n1" in got, "%s: %s" % (marks, got))

got = split([node("Relu", ["x"], ["a"], "same"), node("Neg", ["a"], ["b"], "same"),
             node("Abs", ["b"], ["y"], "n3", {"tenon.after": "same"})], ["y"])
check(isinstance(got, str) and "several nodes are called 'same'" in got, "two of one name: %s" % got)
sys.exit(1 if failed else 0)
