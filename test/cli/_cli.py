"""Helpers of the tests of the command line: run it, read and write .npy files without numpy."""
import os
import struct
import subprocess

TENON = os.environ["TENON"]
SOURCE = os.environ.get("TENON_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
EXAMPLE = os.path.join(SOURCE, "examples", "dynamic.onnx")


def tenon(*args, status=0, cwd=None):
    """Runs the program, expects the exit status, returns stdout and stderr."""
    done = subprocess.run([TENON, *map(str, args)], capture_output=True, text=True, cwd=cwd, timeout=300)
    assert done.returncode == status, f"tenon {args}: exit status {done.returncode}, expected {status}\n{done.stderr}"
    return done.stdout, done.stderr


def write_npy(path, descr, shape, data, fortran=False, version=1):
    header = repr({"descr": descr, "fortran_order": fortran, "shape": tuple(shape)}).encode()
    prefix = 10 if version == 1 else 12
    header += b" " * (-(prefix + len(header) + 1) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", len(header)))
        file.write(header + data)


def read_npy(path):
    """descr, shape, bytes of a file of version 1."""
    with open(path, "rb") as file:
        whole = file.read()
    assert whole[:8] == b"\x93NUMPY\x01\x00", path
    end = 10 + struct.unpack("<H", whole[8:10])[0]
    assert end % 64 == 0 and whole[end - 1:end] == b"\n", path
    header = eval(whole[10:end], {"__builtins__": {}})
    assert header["fortran_order"] is False
    return header["descr"], header["shape"], whole[end:]
