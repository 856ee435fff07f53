"""Every case of ONNX's backend tests that Debian packages (libonnx-testdata): exactly what debian.txt says. A case that
passes although the list says otherwise fails too; `tenon test --write-expect` makes the list anew."""
# needs: onnx-data
import os
import subprocess
import sys

here = os.path.dirname(os.path.abspath(__file__))
folder = os.environ["TENON_ONNX_DATA"]
done = subprocess.run([os.environ["TENON"], "test", "--quiet", "--expect", os.path.join(here, "debian.txt"), folder], text=True,
                      stdout=subprocess.PIPE)
lines = done.stdout.splitlines()
print("\n".join(lines[-60:]))
passed = int(lines[-1].split()[0])
assert passed >= 0.7 * 1072, "less than 70% pass"
sys.exit(done.returncode)
