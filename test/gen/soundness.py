"""Soundness of shape inference: random graphs (steps.py) with symbolic inputs run in ONNX Runtime at random bindings, and
what `tenon infer --json --elements` says of every value is evaluated there by formula.py and compared: types, ranks, dims,
known elements, facts of symbols, checks. soundness.py [--graphs N] [--seed S] [--jobs N] [--at GRAPH]"""
# needs: numpy onnx onnxruntime
import argparse
import collections
import json
import mmap
import os
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
import onnx

import allowed
import draw
import formula
import judge
import shrink
import steps
from grow import INTS, Input, np_type

SIZES = (0, 1, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16)
LARGEST = 200000  # elements of one value in a run
BINDINGS = 4
MEMORY = 3 << 30
SANITIZED = bool(os.environ.get("TENON_SANITIZE"))  # such a program maps terabytes of addresses and is slow
SECONDS = 40 if SANITIZED else 4  # of processor time that one command of Tenon may take
FOLDER = None


class Failure:
    """kind: unsound (a value is not as inferred), oracle (nor in Tenon's own interpreter), strict (a check refuses what runs well), lax (every check holds, but it
    does not run), refused (inference fails), crash."""

    def __init__(self, kind, text, value=None, node=None, op=None):
        self.kind, self.text, self.value, self.node, self.op = kind, text, value, node, op

    def key(self):
        return self.kind, self.op, re.sub(r"[-\d]+|'[^']*'|\[.*?\]|\b[vxnb]\d+\w*", "", self.text)[:40] if self.kind != "unsound" else self.text.split(":")[0]


# --- what Tenon says ---
SOURCE = re.compile(r"^(dim|element) (\d+) of (?:(input|parameter) )?'(\w+)'")


class Claims:
    def __init__(self, model, said):
        self.values, self.checks, self.symbols = said["values"], said["checks"], said["symbols"]
        self.inner = {n.name for node in model.graph.node for n in bodies(node)}
        self.sources = {}
        for name, facts in self.symbols.items():
            m = SOURCE.match(facts["from"] or "")
            if m:
                self.sources[name] = (m.group(1), int(m.group(2)), m.group(4))
            elif facts["from"] and facts["from"] != "given by the user":
                self.sources[name] = ("defined", facts["from"], None)


def bodies(node):
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            for inner in a.g.node:
                yield inner
                yield from bodies(inner)


class Env:
    """Numbers of symbols, from what values are."""

    def __init__(self, claims, run):
        self.claims, self.run, self.known = claims, run, {}

    def __contains__(self, name):
        if name not in self.known:
            n = self.find(name)
            if n is None:
                return False
            self.known[name] = n
        return True

    def __getitem__(self, name):
        return self.known[name]

    def find(self, name):
        kind, what, value = self.claims.sources.get(name, (None, None, None))
        if kind == "defined":
            return formula.value(what, self)
        a = self.run.get(value)
        if not isinstance(a, np.ndarray):
            return None
        if kind == "dim":
            return a.shape[what] if what < a.ndim else None
        return int(a.ravel()[what]) if what < a.size else None


def tenon(model, *arguments):
    """(exit status, stdout, stderr), or a Failure."""
    path = os.path.join(FOLDER, "%d.onnx" % os.getpid())
    with open(path, "wb") as f:
        f.write(model.SerializeToString())
    with subprocess.Popen([os.environ["TENON"], *arguments, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as p:
        resource.prlimit(p.pid, resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        out, err = p.communicate()
    err = err.decode("utf-8", "replace").replace(path, "").replace("tenon: error: : ", "")
    if p.returncode == -signal.SIGXCPU:
        return Failure("crash", "more than %d s" % SECONDS)
    if p.returncode < 0 or p.returncode == 70:
        return Failure("crash", "exit status %d: %s" % (p.returncode, err))
    return p.returncode, out, err


def infer(model):
    """Claims, or a Failure."""
    r = tenon(model, "infer", "--json", "--elements")
    if isinstance(r, Failure):
        return r
    status, out, err = r
    if status == 0:
        return Claims(model, json.loads(out))
    m = re.search(r"node '(\w+)' \((\w+)\)", err)
    return Failure("refused", err.strip().splitlines()[0], None, *(m.groups() if m else (None, None)))


def oracle(model):
    """A Failure when Tenon's own definition of the operators, at sizes of its choice, gives other shapes: also in bodies."""
    r = tenon(model, "infer", "--check", "--runs", "3", "--json")
    if isinstance(r, Failure):
        return r
    status, out, _ = r
    if status != 1:
        return None  # as inferred, or no sizes were found
    first = next((d for d in json.loads(out)["differ"] if d["value"]), None)
    if not first or "(Loop)" in (first["node"] or "") or "(Scan)" in (first["node"] or "") and " is 0, but " in first["text"]:
        return None  # it fails by the contents that were drawn; the interpreter tells no sizes of a loop without a trip
    m = re.search(r"node '(\w+)' \((\w+)\)", first["node"])
    return Failure("oracle", first["text"], first["value"], *(m.groups() if m else (None, None)))


# --- comparison ---
def truth(text, env):
    """1 or 0; None when a symbol has no number (yet)."""
    try:
        return formula.value(text, env)
    except formula.Undefined:
        return 0
    except (formula.Unknown, formula.Overflow):
        return None


def broken(claims, run):
    """The checks of the main graph that are false in that run."""
    env = Env(claims, run)
    return [c for c in claims.checks if c["node"] not in claims.inner and truth(c["expr"], env) == 0]


def number_differs(text, real, env):
    try:
        v = formula.value(text, env)
    except formula.Unknown as e:
        return None if str(e).strip("'") else str(e)
    except (formula.Undefined, formula.Overflow) as e:
        return "%d, but %s has no value (%s: %s)" % (real, text, type(e).__name__, e)
    return None if v == real else "%d, but %s is %d" % (real, text, v)


def element_differs(e, real, env):
    if e is None:
        return None
    if isinstance(e, dict):
        kind, what = next(iter(e.items()))
        try:
            with np.errstate(all="ignore"):
                want = np.float64(what) if kind == "float" else np.float64(formula.value(what[0], env)) / what[1] if kind == "quotient" \
                    else np.float64(np.float32(formula.value(what[0], env)) * np.float32(what[1]))
        except formula.Unknown:
            return None
        except (formula.Undefined, formula.Overflow):
            return "%g, but %s has no value" % (real, what)
        step = {2: 2.0**-8, 4: 2.0**-19}.get(real.dtype.itemsize, 2.0**-45)
        if kind == "float":  # a function of constants, which ONNX Runtime approximates
            step = max(step, 2.0**-10)
        return None if abs(want - np.float64(real)) <= step * max(1 if kind == "float" else 0, abs(want)) or np.isnan(real) else "%.9g, but inferred %.9g" % (real, want)
    if real.dtype.kind == "f":
        if real != np.floor(real):
            return "%.9g, but %s is an integer" % (real, e)
    return number_differs(e, int(real), env)


def value_differs(said, real, env):
    """None, or in words. Sequences have their items' checked by `infer --check` only."""
    if not isinstance(real, np.ndarray) or said["shape"] is None or said["dtype"] is None:
        return None
    if said["dtype"].startswith(("float8", "float4", "int4", "uint4", "int2", "uint2")):
        return None  # numpy's carriers
    if said["dtype"] != ("string" if real.dtype.kind in "OUS" else str(real.dtype)):
        return "type: it is %s, not %s" % (real.dtype, said["dtype"])
    if len(said["shape"]) != real.ndim:
        return "rank: %d, not %d" % (real.ndim, len(said["shape"]))
    for i, (text, d) in enumerate(zip(said["shape"], real.shape)):
        why = number_differs(text, d, env)
        if why:
            return "dim: %d is %s" % (i, why)
    for i, e in enumerate(said.get("elements", ())):
        why = element_differs(e, real.ravel()[i], env)
        if why:
            return "element: %d is %s" % (i, why)
    return None


def facts_differ(claims, env):
    for name, facts in claims.symbols.items():
        try:
            if name not in env:
                continue
            v = env[name]
            if facts["min"] is not None and v < facts["min"] or facts["max"] is not None and v > facts["max"] or v % facts["multiple_of"]:
                return name, "facts: symbol %s is %d, not in [%s, %s], a multiple of %d" % (name, v, facts["min"], facts["max"], facts["multiple_of"])
            if "at_most" in facts and v > formula.value(facts["at_most"], env):
                return name, "facts: symbol %s is %d, above %s" % (name, v, facts["at_most"])
        except (formula.Undefined, formula.Overflow, formula.Unknown):
            pass
    return None


def differs(model, claims, run):
    """The first value, in the order of nodes, that is not as inferred."""
    env = Env(claims, run)
    for node in model.graph.node:
        for o in node.output:
            if o in run and o in claims.values:
                why = value_differs(claims.values[o], run[o], env)
                if why and allowed.may_differ(node, run):
                    return None  # nor is what is made of it
                if why:
                    return Failure("unsound", why, o, node.name, node.op_type)
    fact = facts_differ(claims, env)
    if fact:
        source = claims.sources[fact[0]][2]
        node = next((n for n in model.graph.node if source in n.output), None)
        if node and allowed.may_differ(node, run):
            return None
        return Failure("unsound", fact[1], source, node.name if node else None, node.op_type if node else "input")
    return None


# --- runs ---
class Runner:
    """A model with all its values as results, in ONNX Runtime."""

    def __init__(self, model):
        self.model, self.names = model, [o.name for o in model.graph.output]
        self.constants = {i.name: onnx.numpy_helper.to_array(i) for i in model.graph.initializer}
        self.session = judge.runtime_session(model.SerializeToString())

    def run(self, feeds):
        results = self.session.run(self.names, feeds)
        return {**self.constants, **feeds, **{n: np.asarray(r) if not isinstance(r, (list, tuple, type(None))) else r for n, r in zip(self.names, results)}}


WHERE = re.compile(r"/onnxruntime_src/\S+ .*?\) ")
NODE = re.compile(r"running (\w+) node\. Name:'(\w+)'")


def too_large(claims, feeds):
    env = Env(claims, feeds)
    for said in claims.values.values():
        try:
            if said["shape"] and np.prod([float(formula.value(d, env)) for d in said["shape"]]) > LARGEST:
                return True
        except formula.Overflow:
            return True
        except (formula.Undefined, formula.Unknown):
            pass
    return False


def partly(model, name, feeds):
    """The values that a node which fails is made of."""
    node = next((n for n in model.graph.node if n.name == name), None)
    if node is None:
        return feeds
    before = shrink.copied(model, node=shrink.ancestors(model, shrink.names_used(node)))
    try:
        return {**feeds, **Runner(before).run(shrink.fed(before, feeds))}
    except Exception:
        return feeds


def judged(model, claims, runner, feeds):
    """(outcome, Failure or None) of one run: 'ran', 'refused' by both sides, 'large', 'failed' where that is allowed."""
    if too_large(claims, feeds):
        return "large", None
    early = broken(claims, feeds)
    try:
        run = runner.run(feeds)
    except Exception as e:
        text = str(e)
        if early:
            return "refused", None
        m = NODE.search(text)
        op, name = m.groups() if m else (None, None)
        partial = partly(model, name, feeds)
        if broken(claims, partial):
            return "refused", None
        if any(c["node"] == name and truth(c["expr"], Env(claims, partial)) is None for c in claims.checks):
            return "undecided", None  # over a symbol that no value here tells
        if allowed.may_fail(model, claims, partial, op, name, text):
            return "failed", None
        return "failed", Failure("lax", WHERE.sub("", text.split("Status Message:")[-1]).strip()[:300], None, name, op)
    for c in early or broken(claims, run):
        if not allowed.may_refuse(model, c, run):
            node = next((n for n in model.graph.node if n.name == c["node"]), None)
            return "ran", Failure("strict", "%s: %s" % (c["why"], c["expr"]), None, c["node"], node.op_type if node else None)
        return "ran", None  # what such a check keeps away is not inferred right
    return "ran", differs(model, claims, run)


# --- bindings ---
def bound(rng, graph, base):
    """Numbers for symbols; the arrays of all inputs there, None when a size would be negative."""
    env = {s: v if base or rng.random() < 0.3 else int(rng.choice(SIZES)) for s, v in graph.symbols.items()}
    maker, feeds = draw.Draw("", "", 0, None, rng), {}
    for name, i in graph.inputs.items():
        try:
            shape = sizes_of(rng, i, env, base)
        except (formula.Undefined, formula.Overflow):
            return None
        if any(d < 0 for d in shape):
            return None
        feeds[name] = i.array if base else contents(rng, maker, i, tuple(shape))
    return feeds


def sizes_of(rng, i, env, base):
    shape = []
    for d, said in zip(i.array.shape, i.dims):
        if said is None:
            shape.append(d if base or rng.random() < 0.4 else int(rng.choice(SIZES)))
        else:
            shape.append(formula.value(said, env) if isinstance(said, str) else said)
    return shape


def contents(rng, maker, i, shape):
    if i.kind == "data":
        return np.asarray(maker.values(shape, i.dtype, i.low, i.high))
    if i.array.size:
        grown = np.resize(i.array, shape) if i.array.shape != shape else i.array.copy()
    else:
        grown = np.zeros(shape, i.array.dtype)
    if i.dtype in INTS and rng.random() < 0.6:
        grown = np.asarray(grown.astype("i8") + rng.integers(-2, 3, shape)).astype(np_type(i.dtype))
    return np.asarray(grown)


def feeds_of(rng, graph, claims):
    """The base, then bindings of which most are valid by the checks."""
    yield {n: i.array for n, i in graph.inputs.items()}
    valid = invalid = 0
    for _ in range(10 * BINDINGS):
        feeds = bound(rng, graph, False)
        if feeds is None:
            continue
        if not broken(claims, feeds):
            valid += 1
        elif invalid < 2:
            invalid += 1
        else:
            continue
        yield feeds
        if valid == BINDINGS:
            break


# --- one graph ---
PHASES = ("grow", "runtime", "tenon")
phase = bytearray(1)


def check(seed, number, counts):
    """(model, feeds, Failure) or None."""
    phase[0] = 0
    rng = np.random.default_rng([seed, number])
    graph = steps.grow(rng)
    model = graph.model()
    counts["nodes"] += len(graph.nodes)
    phase[0] = 1
    try:
        runner = Runner(model)
        base = runner.run({n: i.array for n, i in graph.inputs.items()})
    except Exception:
        counts["not run by ONNX Runtime"] += 1
        return None
    phase[0] = 2
    claims = infer(model)
    if isinstance(claims, Failure):
        if allowed.may_be_refused(model, claims, base):
            counts["refused as allowed"] += 1
            return None
        return model, {n: i.array for n, i in graph.inputs.items()}, claims
    phase[0] = 1
    for feeds in feeds_of(rng, graph, claims):
        outcome, failure = judged(model, claims, runner, feeds)
        counts["runs " + outcome] += 1
        if outcome == "ran":
            counts["values compared"] += len(model.graph.output)
        if failure:
            return model, feeds, failure
    phase[0] = 2
    failure = oracle(model) if number % 4 == 0 else None
    return (model, {n: i.array for n, i in graph.inputs.items()}, failure) if failure else None


def once(model, feeds):
    """The Failure of that model with that input, or None: what the shrinker asks."""
    try:
        runner = Runner(model)
    except Exception:
        return None
    claims = infer(model)
    if isinstance(claims, Failure):
        if claims.kind == "refused":
            try:
                run = runner.run(feeds)
            except Exception:
                return None
            if allowed.may_be_refused(model, claims, run):
                return None
        return claims
    return judged(model, claims, runner, feeds)[1] or oracle(model)


def said(number, model, feeds, failure, args):
    if args.shrink:
        model, feeds, failure = shrink.shrink(model, feeds, failure, once, lambda m, f: Runner(m).run(f))
    lines = ["graph %d, %s, node %s (%s), value %s: %s" % (number, failure.kind, failure.node, failure.op, failure.value, failure.text)]
    lines += ["    " + line for line in onnx.printer.to_text(model).splitlines()]
    lines += ["    %s = np.array(%s, %r)" % (n, json.dumps(a.tolist()) if a.size < 200 else "... of shape %s" % (a.shape,), a.dtype.name) for n, a in feeds.items()]
    if args.save:
        onnx.save(model, os.path.join(args.save, "%d.onnx" % number))
    return "\n".join(lines)


# --- processes ---
def child(numbers, args, shared, out):
    global phase
    phase, counts = memoryview(shared)[8:9], collections.Counter()
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for deadly in signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL:  # a sanitizer makes an exit status of them
        signal.signal(deadly, signal.SIG_DFL)
    with os.fdopen(out, "w") as f:
        def put(row):
            f.write(json.dumps(row) + "\n")
            f.flush()
        for n in numbers:
            shared[:8] = struct.pack("q", n)
            signal.setitimer(signal.ITIMER_PROF, 10)
            signal.setitimer(signal.ITIMER_REAL, 60)  # what waits for a thread that is gone takes no processor time
            found = check(args.seed, n, counts)
            counts["graphs"] += 1
            if found:
                signal.setitimer(signal.ITIMER_PROF, 120)
                signal.setitimer(signal.ITIMER_REAL, 600)
                put([n, found[2].kind, list(found[2].key()), said(n, *found, args)])
            put([n, "counts", None, dict(counts)])
            counts.clear()
    os._exit(0)


def start(numbers, args):
    shared = mmap.mmap(-1, 9)
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        try:
            child(numbers, args, shared, write)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(99)
    os.close(write)
    return pid, os.fdopen(read), shared, numbers


def run_all(args):
    """Yields rows of children; a child that ends is restarted behind the graph that it was at."""
    import selectors
    waiting = [list(range(args.first + j, args.first + args.graphs, args.jobs)) for j in range(args.jobs)]
    picker = selectors.DefaultSelector()
    for numbers in waiting:
        job = start(numbers, args)
        picker.register(job[1], selectors.EVENT_READ, job)
    while picker.get_map():
        for key, _ in picker.select():
            pid, pipe, shared, numbers = key.data
            line = pipe.readline()
            if line.endswith("\n"):
                yield json.loads(line)
                continue
            picker.unregister(pipe)
            pipe.close()
            _, status = os.waitpid(pid, 0)
            if status == 0:
                continue
            at = struct.unpack("q", shared[:8])[0]
            if os.WIFEXITED(status):
                yield [at, "crash", ["script", "", ""], "graph %d: the script failed" % at]
            else:
                yield [at, "counts", None, {"ONNX Runtime ended by signal %d" % os.WTERMSIG(status): 1}]
            left = [n for n in numbers if n > at]
            if left:
                job = start(left, args)
                picker.register(job[1], selectors.EVENT_READ, job)


def main():
    global FOLDER
    parser = argparse.ArgumentParser()
    parser.add_argument("--graphs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--at", type=int, help="only this graph, and print its model")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", type=int, default=1, help="failures printed of one kind at one operator")
    parser.add_argument("--whole", dest="shrink", action="store_false", help="print failing graphs as they were made")
    parser.add_argument("--save", help="a folder for the failing models")
    args = parser.parse_args()
    draw.load_recipes()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        FOLDER = folder
        if args.at is not None:
            args.first, args.graphs = args.at, 1
            print(onnx.printer.to_text(steps.grow(np.random.default_rng([args.seed, args.at])).model()), flush=True)
        began, counts, kinds, shown = time.time(), collections.Counter(), collections.Counter(), collections.Counter()
        for number, kind, key, text in run_all(args):
            if kind == "counts":
                counts.update(text)
                continue
            kinds[kind] += 1
            shown[tuple(key)] += 1
            if shown[tuple(key)] <= args.show:
                print(text, flush=True)
    print("%d graphs, %d nodes in %.0f s: %s" % (counts.pop("graphs", 0), counts.pop("nodes", 0), time.time() - began, ", ".join("%s %d" % c for c in sorted(counts.items()))))
    for key, n in shown.most_common():
        print("  %4d  %s" % (n, " ".join(str(k) for k in key)))
    print("none fails" if not kinds else "FAILED: " + ", ".join("%s %d" % c for c in sorted(kinds.items())))
    return 1 if kinds else 0


if __name__ == "__main__":
    sys.exit(main())
