"""What `tenon infer -o` writes passes ONNX's checker and differs from the model in nothing but types of values."""
# needs: onnx
import os
import subprocess
import tempfile

import onnx
from onnx import TensorProto, helper

TENON = os.environ["TENON"]


def without_types(model):
    def strip(graph):
        del graph.value_info[:]
        for output in graph.output:
            output.ClearField("type")
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.type == onnx.AttributeProto.GRAPH:
                    strip(attribute.g)

    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    strip(copy.graph)
    return copy.SerializeToString(deterministic=True)


def dims(model, name):
    for value in list(model.graph.value_info) + list(model.graph.output):
        if value.name == name:
            return [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
    raise KeyError(name)


def check(model, what):
    onnx.checker.check_model(model)
    with tempfile.TemporaryDirectory() as folder:
        before, after = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
        onnx.save(model, before)
        done = subprocess.run([TENON, "infer", before, "-o", after], capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        out = onnx.load(after)
        onnx.checker.check_model(out)
        assert without_types(model) == without_types(out), f"{what}: something else changed"
        again = os.path.join(folder, "again.onnx")
        subprocess.run([TENON, "infer", after, "-o", again], check=True, capture_output=True, timeout=120)
        with open(after, "rb") as a, open(again, "rb") as b:
            assert a.read() == b.read(), f"{what}: writing twice changed it"
        return out


def model_of(nodes, inputs, outputs, **more):
    graph = helper.make_graph(nodes, "g", inputs, outputs, **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, None])

weights = helper.make_tensor("w", TensorProto.FLOAT, [3], [1, 2, 3])
model = model_of([helper.make_node("Add", ["x", "w"], ["s"]), helper.make_node("Concat", ["s", "x"], ["y"], axis=0)],
                 [x], [y], initializer=[weights], doc_string="a graph")
model.metadata_props.add(key="author", value="nobody")
annotation = model.graph.quantization_annotation.add(tensor_name="x")
annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
out = check(model, "annotations")
assert dims(out, "s") == ["N", 3], dims(out, "s")
assert dims(out, "y") == ["2*N", 3], dims(out, "y")

branch = helper.make_graph([helper.make_node("Relu", ["x"], ["t"]), helper.make_node("Neg", ["t"], ["o"])], "b", [],
                           [helper.make_tensor_value_info("o", TensorProto.FLOAT, [None, None])])
condition = helper.make_tensor_value_info("c", TensorProto.BOOL, [])
out = check(model_of([helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch)], [condition, x],
                     [y]), "branches")
assert dims(out, "y") == ["N", 3], dims(out, "y")
for attribute in out.graph.node[0].attribute:
    assert [v.name for v in attribute.g.value_info] == ["t"]
print("2 passed, 0 failed")
