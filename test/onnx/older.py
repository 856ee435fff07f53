"""Every backend case of the onnx package 1.20.1: exactly what older.txt says."""
import os

import _cases

_cases.run(os.path.join(os.environ["TENON_CASES"], "1.20"), "older.txt")
