"""ONNX's backend cases through saved programs: what one process compiles and saves, another loads and runs with the same
verdicts as without. Every eighth case; TENON_CASES_STEP=1 for all."""
# needs: onnx-data
import json
import os
import subprocess

TENON, DATA = os.environ["TENON"], os.environ["TENON_ONNX_DATA"]
step = int(os.environ.get("TENON_CASES_STEP", 8))
cases = sorted(where for where, _, files in os.walk(DATA) if "model.onnx" in files)[::step]
assert len(cases) * step > 800, len(cases)


def verdicts(*options):
    done = subprocess.run([TENON, "test", "--json", *options, *cases], capture_output=True, text=True)
    return [(c["name"], c["result"], c.get("why")) for c in json.loads(done.stdout)["cases"]]


plain, through = verdicts(), verdicts("--through-program")
different = [(a, b) for a, b in zip(plain, through) if a[:2] != b[:2]]
assert len(plain) == len(through) == len(cases) and not different, different
passed = sum(result == "pass" for _, result, _ in through)
assert passed > 0.9 * len(cases), passed
print("%d cases, %d pass through saved programs" % (len(cases), passed))
