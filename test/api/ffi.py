"""The declarations of python/tenon/_ffi.py are those of include/tenon/tenon.h: the same functions, the same number of
arguments, the same fields in the same order."""
# needs: numpy
import os
import re

from tenon import _ffi

header = open(os.path.join(os.environ["TENON_SOURCE"], "include", "tenon", "tenon.h")).read()
header = re.sub(r"/\*.*?\*/", "", header, flags=re.S)

functions = {}
for name, arguments in re.findall(r"TN_API[^;(]*?\b(tn_\w+)\(([^;]*?)\);", header, flags=re.S):
    functions[name] = 0 if arguments.strip() == "void" else arguments.count(",") + 1
assert len(functions) > 20, functions
assert set(functions) == set(_ffi.FUNCTIONS), set(functions) ^ set(_ffi.FUNCTIONS)
for name, count in functions.items():
    assert count == len(_ffi.FUNCTIONS[name][1]), name

for struct, ours in {"tn_tensor": _ffi.Tensor, "tn_string": _ffi.String, "tn_compile_options": _ffi.CompileOptions,
                     "tn_value_info": _ffi.ValueInfo, "tn_session_options": _ffi.SessionOptions,
                     "tn_session_stats": _ffi.SessionStats}.items():
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (struct, struct), header, flags=re.S).group(1)
    fields = [name for line in body.split(";") for name in re.findall(r"(\w+)\s*(?:,|$)", line.strip())]
    assert fields == [name for name, _ in ours._fields_], (struct, fields)
print("%d functions, 6 structs" % len(functions))
