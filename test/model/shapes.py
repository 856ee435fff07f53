"""Every fragment with known shapes: `tenon infer --json` gives formulas that are right at every binding of the case, and
no dim is left to the run that the sizes of the inputs decide (bench/_fragments.py judges). The fragments are in
$TENON_SHARED/cases/shapes (by default beside the source folder); without them the test is skipped."""
# needs: numpy
import os
import sys

SOURCE = os.environ["TENON_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "bench"))

import _fragments  # noqa: E402

FOLDER = os.path.join(os.environ.get("TENON_SHARED", os.path.join(SOURCE, "..", "shared")), "cases", "shapes")


def main():
    if not os.path.isdir(FOLDER):
        print("skipped: no fragments at %s" % FOLDER)
        return 77
    cases, failed = _fragments.load(FOLDER), 0
    for case in cases:
        try:
            shapes = _fragments.tenon_shapes(os.environ["TENON"], _fragments.path_of(FOLDER, case))
            found = list(_fragments.faults(case, shapes))
        except RuntimeError as error:
            found = [("CRASH", str(error))]
        for verdict, why in found:
            failed += 1
            print("%s: %s: %s" % (case["name"], verdict, why))
    print("%d fragments, %d faults" % (len(cases), failed))
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
