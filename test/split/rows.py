"""Each row of test/split/rows.txt has tests that are there, each golden file of a row is listed, no row is missing."""
import os
import re
import sys

root = os.environ['TENON_SOURCE']
golden = os.path.join(root, 'test/golden/split')
failed = 0


def say(text):
    global failed
    failed += 1
    print(text)


def is_there(test):
    folder, _, name = test.rpartition('/')
    paths = ['test/golden/split/%s.tn' % test] if not folder else [
        'test/%s/%s%s' % (folder, name, end) for end in ('.py', '_test.c', '_test.py')]
    return any(os.path.exists(os.path.join(root, p)) for p in paths)


rows = {}
for line in open(os.path.join(root, 'test/split/rows.txt')):
    words = line.split('#')[0].split()
    if words:
        if int(words[0]) in rows:
            say('row %s is there twice' % words[0])
        rows[int(words[0])] = words[1:]
for row in list(range(1, 63)) + list(range(94, 100)):
    if not rows.get(row):
        say('row %d has no test' % row)
for row, tests in rows.items():
    for test in tests:
        if not is_there(test):
            say('row %d: there is no test %s' % (row, test))
        prefix = re.match(r'row(\d+)', test)
        if prefix and int(prefix.group(1)) != row:
            say('row %d: %s is of another row' % (row, test))
listed = {t for tests in rows.values() for t in tests}
for name in sorted(os.listdir(golden)):
    if name.startswith('row') and name[:-3] not in listed:
        say('%s is of no row' % name)
print('%d rows' % len(rows))
sys.exit(1 if failed else 0)
