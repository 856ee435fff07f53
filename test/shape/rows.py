"""rows.txt: each row from 1 to the last is there once, and each test that it names exists."""
import os
import re
import sys

SOURCE = os.environ["TENON_SOURCE"]
LAST = 72


def exists(place):
    path, _, name = place.partition("::")
    try:
        with open(os.path.join(SOURCE, path)) as file:
            text = file.read()
    except OSError:
        return False
    if path.endswith(".tn"):
        return not name
    form = r"^def (test_)?%s\(" if path.endswith(".py") else r"^[A-Z_]*TEST\(%s\)"
    return bool(name) and re.search(form % re.escape(name), text, re.MULTILINE) is not None


def main():
    faults, seen = [], []
    with open(os.path.join(SOURCE, "test", "shape", "rows.txt")) as file:
        for line in file:
            if line.startswith("#"):
                continue
            number, rest = line.split(None, 1)
            places = [word for word in rest.split() if word.startswith("test/")]
            seen.append(int(number))
            faults += ["row %s names no test" % number] if not places else []
            faults += ["row %s: there is no %s" % (number, place) for place in places if not exists(place)]
    if seen != list(range(1, LAST + 1)):
        faults.append("the rows are %s, expected 1 to %d" % (seen, LAST))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
