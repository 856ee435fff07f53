"""Makes a failing graph small: shrink(model, feeds, failure, once, run) with once(model, feeds) -> Failure or None and
run(model, feeds) -> every value."""
import numpy as np
import onnx
from onnx import helper

import draw
from grow import dtype_of, names_used
from draw import as_tensor

STEPS = 400  # runs at most


def copied(model, **parts):
    """The model with other nodes, inputs, initializers; what nothing reads is dropped, all results are outputs."""
    new = onnx.ModelProto()
    new.CopyFrom(model)
    g = new.graph
    for field, items in parts.items():
        del getattr(g, field)[:]
        getattr(g, field).extend(items)
    del g.output[:]
    g.output.extend(helper.make_empty_tensor_value_info(o) for n in g.node for o in n.output if o)
    used = {n for node in g.node for n in names_used(node)}
    kept = [i for i in g.initializer if i.name in used]
    del g.initializer[:]
    g.initializer.extend(kept)
    ins = [i for i in g.input if i.name in used]
    del g.input[:]
    g.input.extend(ins)
    return new


def fed(model, feeds):
    return {i.name: feeds[i.name] for i in model.graph.input}


def ancestors(model, names):
    wanted, kept = set(names), []
    for node in reversed(model.graph.node):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= set(names_used(node))
    return kept[::-1]


class Shrinker:
    def __init__(self, model, feeds, failure, once, run):
        self.model, self.feeds, self.failure, self.once, self.run, self.left = model, feeds, failure, once, run, STEPS

    def works(self, model, feeds):
        """Keeps the smaller case when it still fails in the same way."""
        if self.left <= 0:
            return False
        self.left -= 1
        try:
            feeds = fed(model, feeds)
            failure = self.once(model, feeds)
        except Exception:
            return False
        if failure is None or failure.kind != self.failure.kind or failure.op != self.failure.op:
            return False
        self.model, self.feeds, self.failure = model, feeds, failure
        return True

    def cut(self):
        """Only what the failing node, or value, needs."""
        f = self.failure
        node = next((n for n in self.model.graph.node if n.name == f.node), None)
        if node is not None:
            self.works(copied(self.model, node=ancestors(self.model, list(node.output))), self.feeds)

    def drop_nodes(self):
        for name in [n.name for n in reversed(self.model.graph.node)]:
            node = next((n for n in self.model.graph.node if n.name == name), None)
            if node is None:
                continue
            used = {u for n in self.model.graph.node for u in names_used(n)}
            others = [n for n in self.model.graph.node if n.name != name]
            if not used & set(node.output):
                self.works(copied(self.model, node=others), self.feeds)
            else:
                self.instead(node, others)

    def instead(self, node, others):
        """Results of a node become constants, or inputs of that shape, or of any shape."""
        try:
            before = copied(self.model, node=[n for n in self.model.graph.node if n.name != self.failure.node])
            run = self.run(before, fed(before, self.feeds))
        except Exception:
            return
        made = [o for o in node.output if o]
        if not all(isinstance(run.get(o), np.ndarray) for o in made):
            return
        g = self.model.graph
        constants = [as_tensor(run[o], o, dtype_of(run[o])) for o in made]
        if self.works(copied(self.model, node=others, initializer=list(g.initializer) + constants), self.feeds):
            return
        for free in (False, True):
            ins = [helper.make_tensor_value_info(o, dtype_of(run[o]), ["%s_%d" % (o, i) if free else d for i, d in enumerate(run[o].shape)]) for o in made]
            if self.works(copied(self.model, node=others, input=list(g.input) + ins), {**self.feeds, **{o: run[o] for o in made}}):
                return

    def fix_inputs(self):
        for i in list(self.model.graph.input):
            g = self.model.graph
            a = self.feeds.get(i.name)
            if a is None:
                continue
            others = [j for j in g.input if j.name != i.name]
            if self.works(copied(self.model, input=others, initializer=list(g.initializer) + [as_tensor(a, i.name, dtype_of(a))]), self.feeds):
                continue
            for at in range(a.ndim):
                here = next(j for j in self.model.graph.input if j.name == i.name)
                if here.type.tensor_type.shape.dim[at].HasField("dim_value"):
                    continue
                changed = onnx.ValueInfoProto()
                changed.CopyFrom(here)
                changed.type.tensor_type.shape.dim[at].dim_value = a.shape[at]
                self.works(copied(self.model, input=[changed if j.name == i.name else j for j in self.model.graph.input]), self.feeds)

    def smaller_sizes(self):
        """Each name that an input's dim has alone, to a smaller number."""
        dims = {}
        for i in self.model.graph.input:
            for at, d in enumerate(i.type.tensor_type.shape.dim):
                if d.dim_param and d.dim_param.isidentifier():
                    dims.setdefault(d.dim_param, []).append((i.name, at))
        text = " ".join(d.dim_param for i in self.model.graph.input for d in i.type.tensor_type.shape.dim if not d.dim_param.isidentifier())
        for name, places in dims.items():
            if name in text:
                continue
            now = self.feeds[places[0][0]].shape[places[0][1]]
            for n in range(now):
                feeds = dict(self.feeds)
                for i, at in places:
                    feeds[i] = np.take(feeds[i], range(n), axis=at)
                if self.works(self.model, feeds):
                    break

    def drop_attributes(self):
        for node in list(self.model.graph.node):
            for a in list(node.attribute):
                now = next((n for n in self.model.graph.node if n.name == node.name), None)
                if now is None or a.type == onnx.AttributeProto.GRAPH:
                    continue
                new = onnx.NodeProto()
                new.CopyFrom(now)
                kept = [b for b in new.attribute if b.name != a.name]
                del new.attribute[:]
                new.attribute.extend(kept)
                self.works(copied(self.model, node=[new if n.name == node.name else n for n in self.model.graph.node]), self.feeds)


def shrink(model, feeds, failure, once, run):
    it = Shrinker(model, feeds, failure, once, run)
    if not it.works(copied(model), feeds):
        return model, feeds, failure  # it depends on more than this run
    it.cut()
    size = None
    while size != len(it.model.SerializeToString()) and it.left > 0:
        size = len(it.model.SerializeToString())
        it.drop_nodes()
        it.fix_inputs()
        it.smaller_sizes()
        it.drop_attributes()
    return it.model, it.feeds, it.failure
