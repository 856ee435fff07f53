#!/usr/bin/env python3
# needs: numpy onnx
"""Writes a model of a given size with many weights, to see how reading scales.

    make_big.py OUT.onnx [MEBIBYTES] [--external]      500 MiB in 2,000 weights

Each weight is a vector that is added to the input, so the model can be run. With --external the weights are in
OUT.onnx.data beside the model. The file is written as it is made: memory stays small.
"""
import sys

WEIGHTS = 2000


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def main():
    import numpy as np
    from onnx import TensorProto, helper

    args = [a for a in sys.argv[1:] if a != "--external"]
    external = "--external" in sys.argv
    path, mebibytes = args[0], int(args[1]) if len(args) > 1 else 500
    size = (mebibytes << 20) // WEIGHTS // 4
    rng = np.random.default_rng(1)

    def tensor(i):  # a TensorProto without its raw data, and the data
        proto = TensorProto(dims=[size], data_type=TensorProto.FLOAT, name=f"w{i}")
        data = rng.random(size, dtype=np.float32).tobytes()
        if external:
            proto.data_location = TensorProto.EXTERNAL
            place = (("location", path.rsplit("/", 1)[-1] + ".data"), ("offset", i * size * 4), ("length", size * 4))
            for key, value in place:
                proto.external_data.add(key=key, value=str(value))
            return proto.SerializeToString(deterministic=True), data
        return proto.SerializeToString(deterministic=True) + field(9, data), None

    names = ["x"] + [f"h{i}" for i in range(WEIGHTS - 1)] + ["y"]
    nodes = [helper.make_node("Add", [names[i], f"w{i}"], [names[i + 1]], name=f"/Add_{i}") for i in range(WEIGHTS)]
    graph = helper.make_graph(nodes, "big", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", size])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", size])])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    body = graph.SerializeToString(deterministic=True)
    model.ClearField("graph")
    first = tensor(0)[0]
    weight_bytes = sum(len(field(5, first)) + len(str(i)) - 1 for i in range(WEIGHTS)) if not external else None
    rng = np.random.default_rng(1)
    data_file = open(path + ".data", "wb") if external else None
    with open(path, "wb") as out:
        out.write(model.SerializeToString(deterministic=True))
        if external:
            parts = []
            for i in range(WEIGHTS):
                head, data = tensor(i)
                parts.append(field(5, head))
                data_file.write(data)
            out.write(field(7, body + b"".join(parts)))
            data_file.close()
        else:
            out.write(varint(7 << 3 | 2) + varint(len(body) + weight_bytes) + body)
            for i in range(WEIGHTS):
                out.write(field(5, tensor(i)[0]))
    print(f"{path}: {WEIGHTS} weights of {size} floats")


main()
