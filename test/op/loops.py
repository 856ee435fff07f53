"""Random loops and scans against ONNX Runtime, several runs of one session: states that are swapped, passed on, taken
from outside, made twice, grow, or are stacked as well; ends by trip count and by condition; loops inside loops. A longer
run: test/op/loops.py 5000."""
# needs: numpy onnx onnxruntime
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

import tenon

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
value = helper.make_tensor_value_info


class Body:
    """Nodes of one region; names that can be used in it."""

    def __init__(self, random, prefix, outer):
        self.random, self.prefix, self.nodes, self.names, self.outer = random, prefix, [], [], outer

    def name(self):
        return "%s%d" % (self.prefix, len(self.nodes))

    def node(self, op, inputs, **attributes):
        out = self.name()
        self.nodes.append(helper.make_node(op, inputs, [out], **attributes))
        self.names.append(out)
        return out

    def pick(self):
        names = self.names if self.random.random() < 0.8 or not self.outer else self.outer
        return str(self.random.choice(names))

    def grow(self, depth):
        """A few nodes on vectors of one length."""
        for _ in range(self.random.integers(1, 5)):
            kind = self.random.integers(0, 12 if depth else 10)
            if kind < 4:
                self.node(str(self.random.choice(["Add", "Sub", "Max"])), [self.pick(), self.pick()])
            elif kind < 8:
                self.node(str(self.random.choice(["Neg", "Tanh", "Abs"])), [self.pick()])
            elif kind < 9:
                self.node("Reshape", [self.pick(), "minus_one"])
            elif kind < 10:
                joined = self.node("Concat", [self.pick(), self.pick()], axis=0)
                self.names.pop()
                half = self.name()
                self.nodes.append(helper.make_node("Split", [joined], [half, half + "_"], axis=0, num_outputs=2))
                self.names += [half, half + "_"]
            else:
                self.loop(depth - 1)

    def loop(self, depth):
        n_states, n_stacked = int(self.random.integers(1, 4)), int(self.random.integers(0, 3))
        is_scan = self.random.random() < 0.3
        prefix = self.name() + "_"
        body = Body(self.random, prefix, self.outer + self.names)
        params = ["%ss%d" % (prefix, i) for i in range(n_states)]
        body.names = params + ([prefix + "x"] if is_scan else [])
        body.grow(depth)
        results = [body.pick() for _ in range(n_states + n_stacked)]
        # Results need names of their own in ONNX; those that stand for themselves become Identity nodes, which are gone
        # after simplifying.
        outs = []
        for i, name in enumerate(results):
            out = "%sr%d" % (prefix, i)
            body.nodes.append(helper.make_node("Identity", [name], [out]))
            outs.append(out)
        inputs = [self.pick() for _ in range(n_states)]
        made = ["%so%d" % (prefix, i) for i in range(n_states + n_stacked)]
        floats = [value(n, F, None) for n in body.names[:n_states]]
        ends = [value(n, F, [None]) for n in outs]
        if is_scan:
            graph = helper.make_graph(body.nodes, "body", floats + [value(prefix + "x", F, None)], ends)
            ways = {"scan_output_directions": [int(self.random.integers(0, 2)) for _ in range(n_stacked)]} if n_stacked else {}
            self.nodes.append(helper.make_node("Scan", inputs + ["rows"], made, body=graph, num_scan_inputs=1, **ways))
        else:
            go_on = prefix + "go"
            if self.random.random() < 0.5:
                body.nodes.append(helper.make_node("Identity", [prefix + "c"], [go_on]))
            else:
                body.nodes.append(helper.make_node("Less", [prefix + "i", "limit"], [go_on]))
            graph = helper.make_graph(body.nodes, "body", [value(prefix + "i", I, []), value(prefix + "c", B, [])] + floats,
                                      [value(go_on, B, [])] + ends)
            trips = "trips" if self.random.random() < 0.7 else ""
            self.nodes.append(helper.make_node("Loop", [trips, "yes" if trips else "few", *inputs], made, body=graph))
            if not trips:  # without a trip count it has to end by itself
                self.nodes[-1].attribute[0].g.node[-1].CopyFrom(helper.make_node("Less", [prefix + "i", "limit"], [go_on]))
        self.names += made[:n_states]
        self.stacked = getattr(self, "stacked", []) + made[n_states:]


def model(seed):
    random = np.random.default_rng(seed)
    main = Body(random, "v", [])
    main.names = ["x", "y"]
    main.grow(0)
    main.loop(2)
    main.grow(1)
    outs = list(dict.fromkeys(main.names[2:] + getattr(main, "stacked", [])))
    graph = helper.make_graph(
        main.nodes, "loops", [value("x", F, ["N"]), value("y", F, ["N"]), value("rows", F, ["T", "N"]), value("trips", I, [])],
        [value(n, F, None) for n in outs],
        [helper.make_tensor("minus_one", I, [1], [-1]), helper.make_tensor("limit", I, [], [2]),
         helper.make_tensor("yes", B, [], [True]), helper.make_tensor("few", B, [], [True])])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    made.ir_version = 8
    return made


def main():
    count, options = int(sys.argv[1]) if len(sys.argv) > 1 else 80, onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    ran = 0
    with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
        for seed in range(first, first + count):
            made = model(seed)
            theirs = onnxruntime.InferenceSession(made.SerializeToString(), options)
            open(file.name, "wb").write(made.SerializeToString())
            ours = tenon.compile(file.name).session(threads=1)
            random = np.random.default_rng(seed)
            for n, t, trips in ((3, 2, 4), (3, 2, 3), (40, 3, 1), (0, 2, 3), (2, 1, 0), (40, 1, 5)):
                inputs = {"x": random.uniform(-1, 1, n).astype("f4"), "y": random.uniform(-1, 1, n).astype("f4"),
                          "rows": random.uniform(-1, 1, (t, n)).astype("f4"), "trips": np.array(trips)}
                want = dict(zip([o.name for o in theirs.get_outputs()], theirs.run(None, {
                    k: v for k, v in inputs.items() if k in {i.name for i in theirs.get_inputs()}})))
                got = ours.run(inputs)
                for name in want:
                    assert got[name].size == want[name].size, (seed, name, got[name].shape, want[name].shape)
                    if want[name].size == 0:  # ONNX Runtime knows no sizes of an element that was never made
                        continue
                    assert got[name].shape == want[name].shape, (seed, name, got[name].shape, want[name].shape)
                    assert np.allclose(got[name], want[name], 1e-5, 1e-5), (seed, (n, t, trips), name, got[name], want[name])
                ran += 1
    print("%d loops, %d runs: as ONNX Runtime has them" % (count, ran))


main()
