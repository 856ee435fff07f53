"""Edge forms of legal inputs, for every operator that has a recipe: each size of a random draw made 0, a scalar as a
vector of one element and the other way round, axes counted from the end, optional operands left out, also in the middle.
What ONNX Runtime or the reference implementation makes of such a model, Tenon makes too. Some forms are illegal, and the
judges do not look at everything, so Tenon may refuse what only the reference takes, and one operand emptied alone; never
with an error of its own: edges.py [--op NAME]... [--all] [--draws N] [--seed N] [--forms N]
[--only KIND] [--at NUMBER] [--table]. --all: every version and not only the newest."""
# needs: numpy onnx onnxruntime
import argparse
import copy
import os
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
import onnx

import differential
import draw

MOST = 16  # forms of one draw
PREFERRED = ("float", "string", "int64", "uint8")

# Differences that are the judge's: (operators, kind, words of the difference, reason).
ALLOWED = [
    ({"ArgMax", "ArgMin", "DFT"}, "zero", "expected at least 1", "an axis without elements is refused, also where the result has none"),
    ({"ArgMin", "ArgMax", "Compress"}, "rank", "refused", "a scalar has no axis"),
    ({"AveragePool", "LpPool", "MaxPool", "QLinearAveragePool", "NhwcMaxPool"}, "zero", "does not fit spatial dim", "a window larger than its axis is refused, also where the result has no elements"),
    ({"Gather", "GatherElements", "GatherND", "GatherBlockQuantized"}, "zero", "for a dim of 0", "an index of nothing is refused, also where the result has no elements"),
    ({"Attention"}, "zero", "y0 by runtime: shape", "values of size 0 make a result of size 0, not of the rows of the mask"),
    ({"ReduceMean"}, "zero", "is nan, expected 0", "the mean of nothing is no number, as numpy has it"),
    ({"LinearAttention"}, "zero", "expected nan", "a sum of nothing is 0, whatever its scale"),
    ({"RNN", "GRU", "LSTM"}, "zero", " by runtime: element", "behind a sequence of no rows the state is the initial one, not 0"),
    ({"Conv", "ConvInteger", "QLinearConv", "ConvTranspose", "FusedConv", "DeformConv"}, "zero", "of the weights is 0", "ONNX Runtime does not look at the kernel's size"),
    ({"LinearClassifier", "LinearRegressor", "MatMulNBits", "FeatureVectorizer", "QLinearConcat", "SplitToSequence"}, "zero", "", "ONNX Runtime does not compare the sizes of the operands and attributes"),
    ({"Tokenizer"}, "zero", "y0 by runtime: shape", "the result has one axis more than the input, also where there is nothing in it"),
]


def rows(select, every):
    """(domain, op, version, word): one element type of each operator."""
    table = {}
    for domain, op, version, word in draw.rows(select):
        table.setdefault((domain, op), {}).setdefault(version, []).append(word)
    for (domain, op), versions in sorted(table.items()):
        for version in sorted(versions) if every else [max(versions)]:
            words = versions[version]
            yield domain, op, version, next((w for w in PREFERRED if w in words), words[0])


def changed(it, arrays=None, operands=None, attrs=None):
    """A copy of a draw with some of its values replaced."""
    other = copy.copy(it)
    other.operands, other.attrs = list(operands or it.operands), {**it.attrs, **(attrs or {})}
    other.inputs, other.constants, other.input_types = dict(it.inputs), dict(it.constants), dict(it.input_types)
    for name, a in (arrays or {}).items():
        (other.inputs if name in other.inputs else other.constants)[name] = a
    return other


def emptied(a, axes):
    return np.zeros([0 if i in axes else d for i, d in enumerate(a.shape)], a.dtype)


def zeros(it, arrays):
    """Each size that occurs made 0 wherever it occurs; then each axis of each operand alone."""
    for size in sorted({d for a in arrays.values() for d in a.shape if d}):
        yield "size %d" % size, changed(it, {n: emptied(a, [i for i, d in enumerate(a.shape) if d == size]) for n, a in arrays.items() if size in a.shape})
    for name, a in arrays.items():
        for axis in range(a.ndim):
            if a.shape[axis]:
                yield "axis %d of %s" % (axis, name), changed(it, {name: emptied(a, [axis])})


def ranks(it, arrays):
    for name, a in arrays.items():
        if a.ndim == 0 or a.shape == (1,):
            yield "rank of %s" % name, changed(it, {name: a.reshape((1,) if a.ndim == 0 else ())})


def from_the_end(it, arrays):
    rank = next((a.ndim for a in arrays.values()), 0)
    turned = lambda v: v - rank if v >= 0 else v + rank
    for name in ("axis", "axes"):
        value = it.attrs.get(name)
        if value is not None and rank:
            yield name, changed(it, attrs={name: [turned(v) for v in value] if isinstance(value, (list, tuple)) else turned(value)})
    ports = it.schema.inputs if it.schema else []
    for i, operand in enumerate(it.operands):
        if i < len(ports) and ports[i].name in ("axis", "axes") and operand in arrays and rank:
            yield ports[i].name, changed(it, {operand: np.vectorize(turned, otypes="q")(arrays[operand]).astype(arrays[operand].dtype)})


def without(it, _):
    """Each operand left out, and all from it on; the judges tell which are optional. A loop without a limit need not end."""
    if it.op == "Loop":
        return
    ports = it.schema.inputs if it.schema else []
    optional = lambda i: not ports or i < len(ports) and ports[i].option == onnx.defs.OpSchema.FormalParameterOption.Optional
    for i, operand in enumerate(it.operands):
        if operand and optional(i):
            yield "without operand %d" % i, changed(it, operands=[*it.operands[:i], "", *it.operands[i + 1:]])
            if i + 1 < len(it.operands):
                yield "without operands from %d on" % i, changed(it, operands=[*it.operands[:i], *[""] * (len(it.operands) - i)])


KINDS = {"zero": zeros, "rank": ranks, "axis": from_the_end, "absent": without}


def forms(row, number, seed):
    """(kind, label, draw) of the edge forms of a draw, at most MOST of them."""
    domain, op, version, word = row
    np.seterr(all="ignore")  # the judges' means of nothing
    rng = np.random.default_rng([zlib.crc32(("%s %s %d %s" % row).encode()), number, seed, 2])
    it = draw.draw(op, domain, version, word, rng)
    arrays = {**it.inputs, **it.constants}
    found = [(kind, label, other) for kind, make in KINDS.items() for label, other in make(it, arrays)]
    return [found[i] for i in rng.permutation(len(found))[:MOST]]


def form(row, number, seed):
    """What differential.py asks for: form number % MOST of draw number // MOST."""
    there = forms(row, number // MOST, seed)
    if number % MOST >= len(there):
        raise draw.Illegal("no such form")
    kind, label, it = there[number % MOST]
    if form.only and kind != form.only:
        raise draw.Illegal("another kind")
    it.rng = np.random.default_rng([number, seed])
    return it, it.model(max(7, differential.opset_of(row[0], row[2])))


form.only = None
differential.one = form


def is_bad(row, number, seed, verdict, text):
    if "INTERNAL: " in text:
        return True
    if verdict != "differs":
        return False
    kind, label, _ = forms(row, number // MOST, seed)[number % MOST]
    if any(row[1] in ops and of == kind and words in text for ops, of, words, _ in ALLOWED):
        return False
    return not text.startswith("refused") or ", runtime gives" in text and not label.startswith("axis ")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--op", action="append")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--forms", type=int, default=MOST, help="of each draw")
    parser.add_argument("--only", choices=list(KINDS))
    parser.add_argument("--at", type=int, help="one form of --op, and print its model")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    form.only = args.only
    selected = list(rows(args.op, args.all))
    if args.at is not None:
        for row in selected:
            it, model = form(row, args.at, args.seed)
            print(onnx.printer.to_text(model), flush=True)
            print({n: (a.dtype, a.shape, a.tolist()) for n, a in it.inputs.items()}, flush=True)
            print(differential.check(row, args.at, args.seed, {}))
        return 0
    sums, bad = {}, 0
    numbers = [n for n in range(args.draws * MOST) if n % MOST < args.forms]
    for row, results in differential.run_rows(selected, numbers, args.seed, args.jobs):
        count = {}
        for number, verdict, text in results:
            key = verdict if verdict != "ok" else text
            count[key] = count.get(key, 0) + 1
            if is_bad(row, number, args.seed, verdict, text):
                bad += 1
                kind, label, _ = forms(row, number // MOST, args.seed)[number % MOST]
                print("%s %s %d %s, --at %d: %s, %s: %s" % (row[0] or "ai.onnx", row[1], row[2], row[3], number, kind, label, text[:500]), flush=True)
        count.pop("illegal", None)
        for key, n in count.items():
            sums[key] = sums.get(key, 0) + n
        if args.table:
            print("%-12s %-28s %2d %-8s %s" % (row[0] or "ai.onnx", row[1], row[2], row[3], " ".join("%s %d" % c for c in sorted(count.items()))), flush=True)
    print("%d operators and versions, %d forms: %s; %d wrong" % (len(selected), sum(sums.values()), ", ".join("%s %d" % c for c in sorted(sums.items())), bad))
    return 1 if bad or not sums else 0


if __name__ == "__main__":
    sys.exit(main())
