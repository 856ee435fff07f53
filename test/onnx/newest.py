"""Every backend case of the newest onnx package (1.23.2): exactly what newest.txt says."""
import os

import _cases

_cases.run(os.path.join(os.environ["TENON_CASES"], "newest"), "newest.txt")
