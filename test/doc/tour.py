#!/usr/bin/env python3
"""Runs the commands of doc/tour.md again: what they print must be what the page shows. --update rewrites the page."""
import os
import re
import subprocess
import sys

ROOT = os.environ.get('TENON_SOURCE') or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r'```\n\$ tenon ([^\n]*)\n(.*?)```\n', re.S)


def run(args):
    r = subprocess.run([os.environ.get('TENON', 'tenon')] + args.split(), capture_output=True, text=True, cwd=ROOT)
    if r.returncode != 0:
        sys.exit('tenon %s: exit status %d\n%s' % (args, r.returncode, r.stderr))
    return r.stdout


def main():
    path = os.path.join(ROOT, 'doc', 'tour.md')
    with open(path) as f:
        page = f.read()
    new = BLOCK.sub(lambda m: '```\n$ tenon %s\n%s```\n' % (m.group(1), run(m.group(1))), page)
    if '--update' in sys.argv:
        with open(path, 'w') as f:
            f.write(new)
        return 0
    n = len(BLOCK.findall(page))
    for old, have in zip(BLOCK.findall(page), BLOCK.findall(new)):
        if old != have:
            print('tenon %s prints now:\n%s' % have)
    print('%d commands, %s' % (n, 'all as shown' if new == page else 'the page is stale'))
    return 0 if n and new == page else 1


if __name__ == '__main__':
    sys.exit(main())
