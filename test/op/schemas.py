"""`tenon ops` beside the schemas of the onnx package: every version of every operator from opset 7 on has a row, with its
class of shape inference. What is missing or different is named with a reason in schemas.txt."""
# needs: onnx
import json
import os
import subprocess
import sys

from onnx import defs

OLDEST = 7  # of ai.onnx


def listed(path):
    missing, classes, instead = {}, {}, {}
    with open(path) as file:
        for line in file:
            word = line.split()
            if not word or word[0].startswith("#"):
                continue
            if word[0] == "missing":
                missing[tuple(word[1:4])] = " ".join(word[4:])
            elif word[0] == "class":
                classes.update((name, int(word[1])) for name in word[2:])
            elif word[0] == "instead":
                instead[word[1]] = int(word[2])
    return missing, classes, instead


def schemas():
    """(domain, name, version) that a model of opset 7 or newer can name."""
    versions = {}
    for schema in defs.get_all_schemas_with_history():
        versions.setdefault((schema.domain or "ai.onnx", schema.name), []).append(schema.since_version)
    for (domain, name), since in sorted(versions.items()):
        since.sort()
        for i, version in enumerate(since):
            if domain != "ai.onnx" or i + 1 == len(since) or since[i + 1] > OLDEST:
                yield domain, name, version


def main():
    missing, classes, instead = listed(os.path.join(os.path.dirname(os.path.abspath(__file__)), "schemas.txt"))
    done = subprocess.run([os.environ["TENON"], "ops", "--json"], capture_output=True, text=True, check=True)
    rows, faults, count = {}, [], 0
    for row in json.loads(done.stdout):
        rows.setdefault((row["domain"], row["name"]), []).append(row)
    for domain, name, version in schemas():
        count += 1
        serving = [row for row in rows.get((domain, name), []) if row["op"] != "(refused)" and
                   row["since"] <= version <= (row["last"] or version)]
        if not serving:
            if not missing.pop((domain, name, str(version)), ""):
                faults.append("no row serves %s %s %d" % (domain, name, version))
            continue
        wanted = instead.get(name, classes.get(name, 1))
        if serving[0]["class"] != wanted:
            faults.append("%s %d has class %d, expected %d" % (name, version, serving[0]["class"], wanted))
    faults += ["%s is named as missing, and is served" % " ".join(key) for key in missing]
    print("%d operator versions of the onnx package, %d faults" % (count, len(faults)), *faults, sep="\n")
    return 1 if faults or not count else 0


if __name__ == "__main__":
    sys.exit(main())
