"""Every operator of ai.onnx, in every version, with every element type that onnx.defs allows for any of its type
variables: a model of one node compiles and runs, except for the rows of schema.txt, which must still fail:
schema.py [OPERATOR...] [--rows]."""
# needs: numpy onnx onnxruntime
import os
import sys
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np

import draw
import faults
import judge

TRIES = 300  # draws until one has the wanted type


class Aimed(draw.Draw):
    """Prefers one type for one variable, and feeds what need not be constant, so that a kernel computes."""

    want = ("", "")

    def pick(self, items):
        return items[items.index(self.want[1])] if self.want[1] in items and self.flip(0.7) else super().pick(items)

    def dtype_of(self, type_text):
        if type_text == self.want[0] and type_text not in self.bound:
            self.bound[type_text] = draw.NAMES[self.want[1]]
        return super().dtype_of(type_text)

    def add(self, value, dtype, const=None):
        return super().add(value, dtype, bool(const))


def variables(schema):
    """(type variable, word) of every element type that a port of the operator may have."""
    used = {p.type_str for p in [*schema.inputs, *schema.outputs]}
    for c in schema.type_constraints:
        if c.type_param_str not in used:
            continue
        words = [s.rstrip(")").split("(")[-1] for s in c.allowed_type_strs]
        yield from ((c.type_param_str, w) for w in dict.fromkeys(words) if w in draw.NAMES)


def rows(select):
    draw.load_recipes()
    for (domain, op), versions in sorted(draw.SCHEMAS.items()):
        if domain or select and op not in select:
            continue
        for version, schema in sorted(versions.items()):
            if not schema.deprecated:
                yield from ((op, version, variable, word) for variable, word in variables(schema))


def aimed(row, number):
    op, version, variable, word = row
    schema = draw.SCHEMAS["", op][version]
    rng = np.random.default_rng([zlib.crc32(repr(row).encode()), number])
    first, words = draw.primary(schema)
    kind = type("Aimed", (Aimed,), {"want": (variable, word)})
    chosen = word if word in words and (variable == first or rng.random() < 0.5) else words[int(rng.integers(len(words)))]
    it = draw.draw(op, "", version, chosen, rng, kind)
    # A variable that no recipe binds has one type, or that of the first.
    has = it.bound.get(variable, it.bound.get(first) if word in words else None)
    return it if has == draw.NAMES[word] or it.words_of(variable) == [word] else None


def verdict(row):
    """None, or why not."""
    op, version, _, word = row
    if ("", op) not in draw.RECIPES:
        return "no recipe"
    for number in range(TRIES):
        try:
            it = aimed(row, number)
        except (draw.Illegal, OverflowError):
            continue
        if it is None:
            continue
        if faults.refused(("", op, version, word), it) and not faults.matching(faults.EXCEPTIONS, *row):
            continue  # another variable has a type that is refused
        try:
            judge.by_tenon(it.model(max(7, version)), it.inputs)
            return None
        except judge.tenon.Error as e:
            return "%s: %s" % (e.status, str(e).split("\n")[0])
    return "no draw has this type"


def main():
    select = [a for a in sys.argv[1:] if not a.startswith("-")]
    table, seen, bad, count = faults.EXCEPTIONS, set(), 0, 0
    for row in rows(select):
        count += 1
        why, key = verdict(row), faults.matching(table, *row)
        if key and why:
            seen.add(key)
        if bool(why) != bool(key) or "--rows" in sys.argv and why:
            bad += bool(why) != bool(key)
            print("%s %d %s %s: %s" % (*row, why or "works, but is in schema.txt"), flush=True)
    for key in table:
        if key not in seen and not select:
            bad += 1
            print("schema.txt: %s matches nothing that fails" % (key,))
    print("%d rows, %d lines of exceptions, %d wrong" % (count, len(table), bad))
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
