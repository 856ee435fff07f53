"""No pass is quadratic: ten times the nodes take at most 14 times the instructions and 20 times the heap (a table that
doubles takes 8 or 16), in every pass from reading to the program. A square would be 100 times. valgrind counts both, the
same on every machine however busy.
linear.py [SCALE]: SCALE times the nodes."""
# needs: program:valgrind
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ["TENON_SOURCE"]
TENON = os.environ["TENON"]
_spec = importlib.util.spec_from_file_location("infer", os.path.join(SOURCE, "bench", "infer.py"))
wire = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(wire)


def write(path, parts, inputs, outputs):
    graph = b"".join(parts) + wire.data(2, "g")
    graph += b"".join(wire.data(11, wire.port(n, d)) for n, d in inputs)
    graph += b"".join(wire.data(12, wire.port(n, d)) for n, d in outputs)
    with open(path, "wb") as f:
        f.write(wire.integer(1, 8) + wire.data(7, graph) + wire.data(8, wire.data(1, "") + wire.integer(2, 18)))


def attention(path, n):
    wire.write_model(path, n)


def symbols(n):
    return [("x%d" % i, ["s%d" % i]) for i in range(n)]


def concats(path, n):
    """Each node adds a size of its own to the sum."""
    parts, x = [], "x0"
    for i in range(1, n):
        parts.append(wire.node("Concat", [x, "x%d" % i], "y%d" % i, wire.axis(0)))
        x = "y%d" % i
    write(path, parts, symbols(n), [(x, ["out"])])


def wide(path, n):
    """One node, whose result is a sum of n sizes."""
    names = ["x%d" % i for i in range(n)]
    write(path, [wire.node("Concat", names, "y", wire.axis(0))], symbols(n), [("y", ["out"])])


def values(path, n):
    """A sum of n sizes in the content of a tensor."""
    parts = [wire.node("Shape", ["x0"], "a0")]
    for i in range(1, n):
        parts.append(wire.node("Shape", ["x%d" % i], "h%d" % i))
        parts.append(wire.node("Add", ["a%d" % (i - 1), "h%d" % i], "a%d" % i))
    parts.append(wire.node("ConstantOfShape", ["a%d" % (n - 1)], "out"))
    write(path, parts, symbols(n), [("out", ["o"])])


def apart(path, n):
    """Nodes that have nothing to do with one another: as many inputs and outputs."""
    parts = [wire.node("Relu", ["x%d" % i], "y%d" % i) for i in range(n)]
    write(path, parts, symbols(n), [("y%d" % i, ["s%d" % i]) for i in range(n)])


def star(path, n):
    """One value that all nodes use, and one result of them all."""
    parts = [wire.node("Relu", ["x"], "y%d" % i) for i in range(n)]
    parts.append(wire.node("Max", ["y%d" % i for i in range(n)], "out"))
    write(path, parts, [("x", ["B"])], [("out", ["B"])])


def measure(command, model, out):
    """Instructions of the whole process, and the most bytes of the heap that are allocated at once."""
    done = subprocess.run(["valgrind", "--tool=dhat", "--dhat-out-file=" + out, TENON, command, model], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit("FAIL: tenon %s %s ends with %d\n%s" % (command, model, done.returncode, done.stderr))
    with open(out) as f:
        instructions = re.search(r'"te":(\d+)', f.read()).group(1)
    heap = re.search(r"At t-gmax: ([\d,]+) bytes", done.stderr).group(1)
    return int(instructions), int(heap.replace(",", ""))


CASES = [(attention, "opt", 10000), (concats, "opt", 500), (wide, "infer", 2000), (values, "infer", 2000),
         (apart, "opt", 1000), (star, "opt", 2000)]


def main():
    if os.environ.get("TENON_SANITIZE"):
        print("skipped: valgrind does not run a sanitized program")
        sys.exit(77)
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        model, out = os.path.join(folder, "model.onnx"), os.path.join(folder, "dhat.out")
        for make, command, nodes in CASES:
            make(model, int(nodes * scale))
            few, heap_few = measure(command, model, out)
            make(model, int(nodes * scale) * 10)
            many, heap_many = measure(command, model, out)
            bad = many > 14 * few or heap_many > 20 * heap_few
            failed += bad
            print("%-9s tenon %-5s %6d nodes: %6.1f thousand instructions and %6.0f bytes a node; ten times the nodes: %4.1f and %4.1f times%s"
                  % (make.__name__, command, nodes * scale, few / nodes / scale / 1000, heap_few / nodes / scale, many / few,
                     heap_many / heap_few, "  FAIL" if bad else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
