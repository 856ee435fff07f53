"""The project's own example (batch, sequence and image size are free) needs no network: every step of a run agrees with
the operators' definitions in double precision, at each shape of its sheet."""
import os
import subprocess

source = os.environ["TENON_SOURCE"]
model = os.path.join(source, "examples", "dynamic.onnx")
for line in open(os.path.join(source, "examples", "dynamic.shapes")):
    inputs = [part for word in line.split() for part in ("--input", word)]
    done = subprocess.run([os.environ["TENON"], "run", model, "--compare", "oracle", *inputs], text=True, capture_output=True)
    print(line.strip(), "->", done.stdout.splitlines()[-1] if done.stdout else done.stderr)
    assert done.returncode == 0, done.stderr
    assert "steps compared, 0 differ" in done.stdout, done.stdout
