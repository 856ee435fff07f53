"""No pass is quadratic: ten times the nodes take at most 30 times the processor time and 15 times the memory, in every
pass from reading to the program. A square would be 100 times.
linear.py [SCALE]: SCALE times the nodes."""
import importlib.util
import os
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


def measure(command, model):
    process = subprocess.Popen([TENON, command, model], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit("FAIL: tenon %s %s ends with %d" % (command, model, status))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


CASES = [(attention, "opt", 10000), (concats, "infer", 2000), (wide, "infer", 2000), (values, "infer", 2000),
         (apart, "opt", 1000), (star, "opt", 2000)]


def main():
    scale = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for make, command, nodes in CASES:
            few, many = os.path.join(folder, "few.onnx"), os.path.join(folder, "many.onnx")
            make(few, int(nodes * scale))
            make(many, int(nodes * scale) * 10)
            small = [measure(command, few) for _ in range(3)]
            time_few, memory_few = min(t for t, _ in small), max(m for _, m in small)
            time_many, memory_many = measure(command, many)
            longer, larger = time_many / max(time_few, 0.005), memory_many / memory_few
            bad = longer > 30 or larger > 15
            failed += bad
            print("%-9s tenon %-5s %7d nodes %7.3f s %7d KiB, ten times: %4.1f times the time, %4.1f the memory%s" %
                  (make.__name__, command, nodes * scale, time_few, memory_few, longer, larger, "  FAIL" if bad else ""))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
