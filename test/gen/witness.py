"""The list of the judges' faults, each with a draw that shows it: witness.py looks at the draws of witness.txt again;
witness.py --find [--draws N] [--op NAME]... looks for one of every entry of known.py and faults.py (of these operators) and
writes that list.

A line: judge, operator, version, element type, draw (of seed 0), who agrees with Tenon against that judge, the reason. Where
nobody else does (`-`), the reason is the standard's word, or cases.py has the case worked by hand."""
# needs: numpy onnx onnxruntime
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import differential as d
import draw
import judge
import faults  # fills known.FAULTS
import known
import spec

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "witness.txt")


def verdicts(row, number, of):
    """(how Tenon differs from judge `of`, or None; [others that agree with Tenon])"""
    it, model = d.one(row, number, 0)
    got = judge.by_tenon(model, it.inputs)
    runs = dict(d.judges(it, row))
    text = d.compare(it, of, got, runs[of](model))
    if not text:
        return None, []
    agree = ["spec"] if row[0] == "" and it.op in spec.JUDGES and not d.by_spec(it, got) else []
    for name, run in runs.items():
        if name == of or name == "twin" and of == "runtime" or known.wrong("runtime" if name == "twin" else name, it):
            continue
        try:
            agree += [] if d.compare(it, name, got, run(model)) else [name]
        except Exception:
            pass
    return text, agree


def applies(row, number, fault):
    try:
        it, _ = d.one(row, number, 0)
        return fault[2](it)
    except draw.Illegal:
        return False


def find(op, fault, draws):
    """(row, draw, who agrees) of a draw that shows the fault in the operator, best one that another judge confirms."""
    best = None
    for row in draw.rows([op]):
        for number in range(draws):
            if not applies(row, number, fault):
                continue
            try:
                text, agree = verdicts(row, number, fault[0])
            except Exception:  # refused, by Tenon or by the judge
                continue
            if agree:
                return row, number, agree
            best = best or text and (row, number, agree)
    return best


def isolated(function, *args):
    """The function in a process of its own: judges crash."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        with os.fdopen(write, "w") as f:
            f.write(repr(function(*args)))
            f.flush()
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as f:
        text = f.read()
    os.waitpid(pid, 0)
    return eval(text) if text else None


def listed():
    """[[judge, operator, version, element type, draw, who agrees, reason]] of the list."""
    with open(LIST) as f:
        return [line.rstrip("\n").split(None, 6) for line in f if line.strip() and not line.startswith("#")]


def search(ops, draws):
    """The lines of the list, those of other operators than `ops` as they were."""
    lines, old = [], {(line[0], line[1], line[6]): line for line in listed()} if ops else {}
    for fault in known.FAULTS:
        for op in sorted(fault[1]):
            if ops and op not in ops:
                if (fault[0], op, fault[3]) in old:
                    lines.append(" ".join(old[fault[0], op, fault[3]]))
                continue
            found = isolated(find, op, fault, draws)
            row, number, agree = found or ((None, op, "?", "?"), "?", [])
            lines.append("%s %s %s %s %s %s %s" % (fault[0], op, row[2], row[3], number, "+".join(agree) or "-", fault[3]))
            print(lines[-1], flush=True)
    return lines


def again():
    bad, lines = 0, listed()
    for of, op, version, word, number, agree, _ in lines:
        if number == "?":
            continue
        row = next(r for r in draw.rows([op]) if str(r[2]) == version and r[3] == word)
        text, others = isolated(verdicts, row, int(number), of) or (None, [])
        if not text or agree != "-" and not others:
            bad += 1
            print("%s %s %s %s draw %s: %s" % (of, op, version, word, number, "agrees with Tenon" if not text else "nobody else agrees with Tenon"))
    print("%d faults, %d without the difference" % (len(lines), bad))
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--find", action="store_true")
    parser.add_argument("--draws", type=int, default=60)
    parser.add_argument("--op", action="append")
    args = parser.parse_args()
    draw.load_recipes()
    if not args.find:
        return again()
    lines = search(args.op, args.draws)
    with open(LIST, "w") as f:
        f.write("# Written by witness.py --find; see there.\n" + "\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
