"""tenon run: the trace is what Chrome's viewer reads; a run that needs more memory than allowed fails and says how much."""
import json
import os
import tempfile
import unittest

from _cli import EXAMPLE, tenon

INPUTS = ["--input", "image=random:1x3x32x32", "--input", "tokens=random:1x4"]


class Trace(unittest.TestCase):
    def test_events(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "out.json")
            rows = json.loads(tenon("run", EXAMPLE, *INPUTS, "--repeat", 3, "--profile", "--json", "--trace", path)[0])["profile"]
            with open(path, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
        runs, steps = ([e for e in events if (e["cat"] == "run") == is_run] for is_run in (True, False))
        self.assertEqual(len(runs), 3)
        self.assertEqual(len(steps), sum(row["calls"] for row in rows))
        self.assertEqual({e["name"] for e in steps}, {row["node"] for row in rows})
        for e in events:
            self.assertEqual(e["ph"], "X")
            self.assertGreaterEqual(e["ts"], 0)
            self.assertGreaterEqual(e["dur"], 0)
        for e in steps:  # each within a run
            self.assertTrue(any(r["ts"] - 1 <= e["ts"] and e["ts"] + e["dur"] <= r["ts"] + r["dur"] + 1 for r in runs), e)

    def test_wrong_path(self):
        self.assertIn("no/such/folder", tenon("run", EXAMPLE, *INPUTS, "--trace", "no/such/folder/t.json", status=6)[1])


class Memory(unittest.TestCase):
    def test_bound(self):
        err = tenon("run", EXAMPLE, *INPUTS, "--max-memory", "4KiB", status=8)[1]
        self.assertRegex(err, r"\d+ bytes of memory are needed, but only 4096 are allowed")
        tenon("run", EXAMPLE, *INPUTS, "--max-memory", "64MiB")
        self.assertIn("is no size", tenon("run", EXAMPLE, *INPUTS, "--max-memory", "many", status=2)[1])


if __name__ == "__main__":
    unittest.main()
