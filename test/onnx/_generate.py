"""_generate.py DIR: the backend cases of the installed onnx package as folders DIR/<kind>/<case>, the form that `tenon test`
reads. The package holds its node cases as Python; the others are copied. Used by scripts/setup.sh."""
import os
import shutil
import sys
import warnings

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.case import model as model_cases


def proto_of(value, info):
    if isinstance(value, onnx.TensorProto):
        return value
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    if kind == "map_type":
        return numpy_helper.from_dict(value, info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def write(path, proto):
    with open(path, "wb") as file:
        file.write(proto.SerializeToString(deterministic=True))


def write_case(root, case):
    folder = os.path.join(root, case.kind, case.name)
    os.makedirs(folder)
    write(os.path.join(folder, "model.onnx"), case.model)
    for i, sides in enumerate(case.data_sets):
        data = os.path.join(folder, f"test_data_set_{i}")
        os.makedirs(data)
        for stem, values, infos in zip(("input", "output"), sides, (case.model.graph.input, case.model.graph.output)):
            for k, (value, info) in enumerate(zip(values, infos)):
                write(os.path.join(data, f"{stem}_{k}.pb"), proto_of(value, info))


def main(root):
    warnings.simplefilter("ignore")  # cases about infinities divide by zero
    shutil.rmtree(root, ignore_errors=True)
    n = 0
    for case in loader.load_node_model_tests() + model_cases.collect_testcases():
        if case.model is not None:  # the others name a model to be downloaded
            write_case(root, case)
            n += 1
    for kind in ("simple", "pytorch-converted", "pytorch-operator"):
        source = os.path.join(loader.DATA_DIR, kind)
        for name in sorted(os.listdir(source)):
            target = os.path.join(root, kind, name)
            if os.path.exists(os.path.join(source, name, "model.onnx")) and not os.path.exists(target):
                shutil.copytree(os.path.join(source, name), target)
                n += 1
    print(f"{n} cases of onnx {onnx.__version__}")


main(sys.argv[1])
