"""Every case of ONNX's backend tests that Debian packages (libonnx-testdata): exactly what debian.txt says."""
# needs: onnx-data
import os

import _cases

_cases.run(os.environ["TENON_ONNX_DATA"], "debian.txt")
