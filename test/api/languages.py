#!/usr/bin/env python3
"""tenon.h from C11 and C++17: the same small program, compiled by each compiler there is, linked to libtenon and run."""
import os
import shutil
import subprocess
import sys
import tempfile

MODEL = '''tenon 1
graph @main(%x: f32[N,2]) -> (%y: ?) {
  %w = const() {value = dense(f32[2,3]: 1, 0, -1, 2, 1, 0)} : f32[2,3]
  %y = matmul(%x, %w) : ?
}
'''
# x = [[0, 1], [2, 3], [4, 5]]; x @ w = [[2, 1, 0], [8, 3, -2], [14, 5, -4]]
WANT = 'y: f32[N,3]\n1 rows: 3\n3 rows: 27\n'


def main():
    source, build = os.environ['TENON_SOURCE'], os.environ['TENON_BUILD']
    strict = ['-Wall', '-Wextra', '-Wpedantic', '-Werror']
    sanitize = ['-fsanitize=' + os.environ['TENON_SANITIZE']] if os.environ.get('TENON_SANITIZE') else []
    ways = [(c, s) for c, s in (('gcc', 'c11'), ('clang', 'c11'), ('g++', 'c++17'), ('clang++', 'c++17')) if shutil.which(c)]
    if not ways or (sanitize and 'gcc' not in [c for c, _ in ways]):
        print('no compiler')
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as work:
        model = os.path.join(work, 'model.tn')
        with open(model, 'w') as f:
            f.write(MODEL)
        for compiler, standard in ways:
            if sanitize and compiler.startswith('clang'):
                continue  # two sanitizer run times do not mix
            program = os.path.join(work, compiler)
            language = 'c++' if '++' in standard else 'c'
            subprocess.run([compiler, '-std=' + standard, '-x', language, source + '/test/api/small.c', '-x', 'none',
                            '-I' + source + '/include', build + '/libtenon.so', '-Wl,-rpath,' + build, '-o', program]
                           + strict + sanitize, check=True)
            r = subprocess.run([program, model], capture_output=True, text=True)
            ok = r.returncode == 0 and r.stdout == WANT
            failed += not ok
            print('%s %s: %s' % (compiler, standard, 'ok' if ok else 'status %d\n%s%s' % (r.returncode, r.stdout, r.stderr)))
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
