"""Runs `tenon test` over a folder of ONNX's backend cases and holds the verdicts against a list: run(folder, list).

A list has a row "NAME verdict" for each case; `tenon test --write-expect` makes it. Every case that does not pass also
has a reason in reasons.txt. A case that passes although the list says otherwise fails the test too."""
import fnmatch
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
MAX_OPEN = 10  # cases of a list that do not pass, apart from those whose data ONNX has corrected since
CORRECTED = "corrected: "


def reasons():
    rows = {}
    with open(os.path.join(HERE, "reasons.txt"), encoding="utf-8") as file:
        for line in file:
            pattern, _, reason = line.strip().partition(" ")
            if pattern and not pattern.startswith("#"):
                rows[pattern] = reason
    return rows


def reason_of(rows, name):
    return next((reason for pattern, reason in rows.items() if fnmatch.fnmatchcase(name, pattern)), None)


def verdicts(list_name):
    with open(os.path.join(HERE, list_name), encoding="utf-8") as file:
        return dict(line.split() for line in file if line.strip())


def check_reasons(list_name, newest):
    """Every row that is no pass has a reason; those that ONNX has corrected pass in the newest data."""
    rows, n_open = reasons(), 0
    for name, verdict in verdicts(list_name).items():
        if verdict == "pass":
            continue
        reason = reason_of(rows, name)
        assert reason, f"{name} is {verdict}, but reasons.txt does not say why"
        if reason.startswith(CORRECTED):
            assert list_name != newest and verdicts(newest).get(name) == "pass", f"{name}: the newest data does not pass"
        else:
            n_open += 1
    assert n_open <= MAX_OPEN, f"{list_name}: {n_open} cases do not pass"
    return n_open


def lacks_library(case):
    why = case.get("why", "")
    return "image_decoder" in case["name"] and (" files need " in why or "built without" in why)


def run(folder, list_name, newest="newest.txt"):
    if not os.path.isdir(folder):
        print(f"skipped: {folder} is missing (scripts/setup.sh test brings it when the network can be reached)")
        sys.exit(77)
    n_open = check_reasons(list_name, newest)
    done = subprocess.run([os.environ["TENON"], "test", "--json", "--expect", os.path.join(HERE, list_name), folder],
                          text=True, stdout=subprocess.PIPE, check=False)
    result = json.loads(done.stdout)
    want = verdicts(list_name)
    bad = [case for case in result["cases"] if not case["expected"]]
    for case in bad:
        print(f"{case['name']} is {case['result']}, expected {want.get(case['name'], 'no such case')}: {case.get('why', '')}")
    lacking = [case for case in bad if lacks_library(case)]
    missing = set(want) - {case["name"] for case in result["cases"]}
    assert not missing, f"{len(missing)} cases are gone, first {sorted(missing)[0]}"
    assert len(bad) == len(lacking), f"{len(bad) - len(lacking)} verdicts are not the expected ones"
    print(f"{result['passed']} of {len(result['cases'])} pass; {n_open} do not for reasons of ours or of ONNX's data, "
          f"{len(want) - sum(v == 'pass' for v in want.values()) - n_open} have data that ONNX has corrected; "
          f"{len(lacking)} lack an image library")
