"""tenon infer --check on public models: every value at random valid sizes is as inferred. Arguments: a number of runs and
models, for more of both."""
# needs: wheels
import os
import subprocess
import sys

TENON = os.environ["TENON"]
WHEELS = os.environ["TENON_WHEELS"]
SHARED = os.environ.get("TENON_SHARED", os.path.join(os.environ["TENON_SOURCE"], "..", "shared"))
RUNS = {"ch_PP-OCRv4_det_infer.onnx": 1, "ch_PP-OCRv4_rec_infer.onnx": 1, "ch_ppocr_mobile_v2.0_cls_infer.onnx": 2,
        "silero_vad.onnx": 2, "silero_vad_16k_op15.onnx": 2, "byte_lstm.onnx": 4, "sequences.onnx": 1}


def models():
    for top in (WHEELS, os.path.join(SHARED, "cases", "models")):
        for folder, _, files in sorted(os.walk(top)):
            for name in sorted(files):
                if name in RUNS:
                    yield os.path.join(folder, name), RUNS[name]


rows = [(path, int(sys.argv[1])) for path in sys.argv[2:]] or list(models())
failed = 0
for path, runs in rows:
    done = subprocess.run([TENON, "infer", path, "--check", "--runs", str(runs)], capture_output=True, text=True)
    failed += done.returncode != 0
    print("%s: %s" % (os.path.basename(path), (done.stdout or done.stderr).strip().splitlines()[-1]), flush=True)
    if done.returncode:
        print(done.stdout, done.stderr)
if not rows:
    print("skipped: no model is at hand")
    sys.exit(77)
sys.exit(1 if failed else 0)
