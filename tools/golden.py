#!/usr/bin/env python3
"""golden.py [--update] FOLDER|FILE...: golden tests of the compiler.

A file *.tn begins with a line `# run: opt --pass=fold`, the arguments of `tenon` ({dir}: the file's folder); then comes
the input; then a line `# expect` with the exact output, or a line `# error` with text that the messages must contain,
line by line.
--update rewrites what is behind `# expect`; a person reads the difference."""
import os
import subprocess
import sys
import tempfile


def load(path):
    with open(path) as f:
        lines = f.read().splitlines(keepends=True)
    if not lines or not lines[0].startswith('# run: '):
        sys.exit('%s: the first line is not "# run: ..."' % path)
    for i, line in enumerate(lines):
        if line.strip() in ('# expect', '# error'):
            args = [a.replace('{dir}', os.path.dirname(os.path.abspath(path))) for a in lines[0][7:].split()]
            return args, ''.join(lines[1:i]), line.strip()[2:], ''.join(lines[i + 1:]), ''.join(lines[:i + 1])
    sys.exit('%s: no "# expect" or "# error"' % path)


def run(tenon, args, text):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, 'in.tn')
        with open(path, 'w') as f:
            f.write(text)
        r = subprocess.run([tenon] + args + [path], capture_output=True, text=True, timeout=60)
    return r.returncode, r.stdout, r.stderr


def check(tenon, path, update):
    args, text, kind, want, head = load(path)
    code, out, err = run(tenon, args, text)
    if kind == 'error':
        missing = [line for line in want.splitlines() if line.strip() and line not in err]
        return None if code != 0 and not missing else 'exit status %d, messages:\n%smissing: %s' % (code, err, missing)
    if update and code == 0:
        with open(path, 'w') as f:
            f.write(head + out)
        return None
    if code != 0:
        return 'exit status %d\n%s' % (code, err)
    if out != want:
        return 'output differs\n--- want\n%s--- have\n%s' % (want, out)
    if args[0] != 'opt':
        return None
    code, again, err = run(tenon, args, out)  # a pass on its own result changes nothing more
    return None if again == out else 'a second run changes the result:\n%s%s' % (again, err)


def main():
    update = '--update' in sys.argv
    tenon = os.environ.get('TENON', 'tenon')
    paths = []
    for arg in sys.argv[1:]:
        if os.path.isdir(arg):
            for folder, _, names in sorted(os.walk(arg)):
                paths += [os.path.join(folder, n) for n in sorted(names) if n.endswith('.tn')]
        elif not arg.startswith('-'):
            paths.append(arg)
    failed = 0
    for path in paths:
        why = check(tenon, path, update)
        if why:
            failed += 1
            print('%s: %s' % (path, why))
    print('%d passed, %d failed' % (len(paths) - failed, failed))
    return 1 if failed or not paths else 0


if __name__ == '__main__':
    sys.exit(main())
