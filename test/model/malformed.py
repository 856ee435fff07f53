"""Small models that crash, hang or fool other tools: each ends in a status, in a second and 200 MiB."""
# needs: onnx
import os
import resource
import subprocess
import sys
import tempfile

import onnx.parser

MODELS = {  # name: (text, exit statuses that are right, piece of what is said)
    "col2im_overflow": ('<ir_version: 8, opset_import: ["":18]> g (float[1,9223372036854775807,4] a) => (y) <int64[2] i = {2,2}, '
                        'int64[2] b = {4611686018427387904,2}> { y = Col2Im(a,i,b) }', (3, 5, 8), "Col2Im"),
    "concat_minus_one": ('<ir_version: 8, opset_import: ["":17]> g (float[N,4] a, float[N,4] b) => (y) <int64[2] t = {-1,8}> '
                         '{ c = Concat<axis=1>(a,b) y = Reshape(c,t) }', (0,), "y"),
    "einsum_ellipsis": ('<ir_version: 8, opset_import: ["":17]> g (float x0, float[2,3] x1) => (y) '
                        '{ y = Einsum<equation="...,...->...">(x0,x1) }', (3, 5), "Einsum"),
    "huge_rank": ('<ir_version: 8, opset_import: ["":17]> g (float[N,4] a, int64[999999999] s) => (y) { y = Reshape(a,s) }', (8,),
                  "rank 999999999"),
    "negative_dim": ('<ir_version: 8, opset_import: ["":18]> g (float[-1,4] a) => (y) { y = Concat<axis=0>(a,a) }', (0,), "y"),
    "reshape_overflow": ('<ir_version: 8, opset_import: ["":18]> g (float[4611686018427387904,4] a) => (y) <int64[1] i = {-1}> '
                         '{ y = Reshape(a,i) }', (3, 5, 8), ""),
    "reshape_rank": ('<ir_version: 8, opset_import: ["":17]> g (float[N,4] a, int64[3] s) => (y) { y = Reshape(a,s) }', (0,), "y"),
    "topk_of_vector": ('<ir_version: 8, opset_import: ["":17]> g (float[N,M] x) => (v,i) <int64[1] idx = {-1}> '
                       '{ s = Shape(x) k = Gather(s,idx) v,i = TopK(x,k) }', (0,), "f32[N,M]"),
}

failed = 0
with tempfile.TemporaryDirectory() as folder:
    for name, (text, statuses, says) in MODELS.items():
        path = os.path.join(folder, name + ".onnx")
        with open(path, "wb") as file:
            file.write(onnx.parser.parse_model(text).SerializeToString())
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run([os.environ["TENON"], "infer", path], capture_output=True, text=True, timeout=60)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds, mebibytes = used.ru_utime - before, used.ru_maxrss / 1024  # processor time; of the largest so far
        ok = done.returncode in statuses and says in done.stdout + done.stderr
        if not os.environ.get("TENON_SANITIZE"):
            ok = ok and mebibytes < 200 and seconds < 10  # far above the second asked for: a busy machine counts more
        failed += not ok
        print("%s %s: status %d, %.2f s, %.0f MiB\n    %s" % ("ok  " if ok else "FAIL", name, done.returncode, seconds, mebibytes,
                                                             (done.stderr or done.stdout).strip().splitlines()[-1]))
sys.exit(1 if failed else 0)
