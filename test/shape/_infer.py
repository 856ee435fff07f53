"""What the tests of this folder share: a graph in text form goes through `tenon infer --json`.

Lines of a graph are text IR without the result types, which are appended as unknown. `$[2, -1]` stands for a constant of
int64, `$3` for a scalar one, `$f[0.5]` and `$f0.5` for float32."""
import json
import os
import re
import subprocess
import tempfile

TENON = os.environ["TENON"]
CONSTANT = re.compile(r"\$(f?)(\[[^\]]*\]|-?[0-9.]+)")


def tenon(*args, text=None, status=0):
    """Runs the program, on a file with this text when there is one; returns stdout and stderr."""
    with tempfile.TemporaryDirectory() as folder:
        command = [TENON, *args]
        if text is not None:
            command.insert(2, os.path.join(folder, "graph.tn"))
            with open(command[2], "w") as file:
                file.write(text)
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode in (status if isinstance(status, tuple) else (status,)), "%s: exit status %d\n%s%s" % (args, done.returncode, text, done.stderr)
    return done.stdout, done.stderr


def graph(inputs, body):
    """Text IR of a graph whose results are those of the last line."""
    lines = []

    def constant(match):
        kind, what = "f32" if match[1] else "i64", match[2]
        items = [item for item in what.strip("[]").replace(" ", "").split(",") if item]
        if match[1]:
            items = [item if "." in item else item + ".0" for item in items]
        name, dims = "%%k%d" % len(lines), str(len(items)) if what.startswith("[") else ""
        type_ = "%s[%s]" % (kind, dims)
        lines.append("  %s = const() {value = dense(%s: %s)} : %s" % (name, type_, ", ".join(items), type_))
        return name

    opened, targets = [], ""  # results of statements that are not closed; of the last one that is
    for line in body.strip().splitlines():
        line = CONSTANT.sub(constant, line.strip())
        if line.startswith("%"):
            opened.append(line.split(" = ")[0])
        if opened and (line.startswith("%") or line == "}") and not line.endswith("{"):
            targets = opened.pop()
            line, _, at = line.partition(" at ")
            if "] : " not in line and ") : " not in line:
                line += " : " + ", ".join(["?"] * len(targets.split(", ")))
            line += " at " + at if at else ""
        lines.append("  " + line)
    inputs = ", ".join("%" + item.strip() for item in inputs.split(";")) if inputs else ""
    results = ", ".join(name + ": ?" for name in targets.split(", "))
    return "tenon 1\n\ngraph @main(%s) -> (%s) {\n%s\n}\n" % (inputs, results, "\n".join(lines))


class Facts:
    """What inference says of a graph: f["y"] is a shape as text, f.checks the demands that stayed open."""

    def __init__(self, text):
        self.all = json.loads(text)
        self.checks = {check["expr"] for check in self.all["checks"]}

    def __getitem__(self, name):
        shape = self.all["values"][name]["shape"]
        return None if shape is None else "[%s]" % ", ".join(map(str, shape))


def infer(inputs, body, assume=None):
    options = ["--assume", assume] if assume else []
    return Facts(tenon("infer", "--json", *options, text=graph(inputs, body))[0])


def refused(inputs, body, *words):
    """Inference ends with INVALID or MISMATCH, and says all of these words."""
    said = tenon("infer", text=graph(inputs, body), status=(3, 5))[1]
    for word in words:
        assert word in said, (word, said)


def content(inputs, body, value, count, assume=None):
    """The elements of an integer value, as texts: each becomes a dim. Negative ones must be shifted by the graph."""
    body += "\n%%flat_ = reshape(%s, $[-1])" % value
    for i in range(0, count, 8):
        body += "\n%%part%d_ = slice(%%flat_, $[%d], $[%d])" % (i, i, min(i + 8, count))
        body += "\n%%dims%d_ = constant_of_shape(%%part%d_)" % (i, i)
    facts = infer(inputs, body, assume)
    return [str(dim) for i in range(0, count, 8) for dim in facts.all["values"]["dims%d_" % i]["shape"] or ["?"]]


def main(names):
    """Runs every function whose name begins with test_."""
    failed = 0
    for name, test in sorted(names.items()):
        if name.startswith("test_"):
            try:
                test()
            except AssertionError as error:
                failed += 1
                print("%s: %s" % (name, error))
    print("%d failed" % failed)
    return 1 if failed else 0
