#!/bin/sh
# python_test.sh SCRIPT [ARG...]: runs a test script with the Python that scripts/setup.sh made, or python3. A line
# `# needs: NAME...` in the script names packages (numpy onnx onnxruntime sympy), `wheels` (models unpacked by setup.sh)
# `onnx-data` (ONNX's backend test folders) and programs (program:dot); when one is missing the test is skipped (exit 77) and says which.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
TENON_VENV=${TENON_VENV:-$root/build/venv}
TENON_WHEELS=${TENON_WHEELS:-$root/build/wheels}
TENON_ONNX_DATA=${TENON_ONNX_DATA:-/usr/lib/python3/dist-packages/onnx/backend/test/data}
TENON_CASES=${TENON_CASES:-$root/build/cases}
export TENON_VENV TENON_WHEELS TENON_ONNX_DATA TENON_CASES
python=$TENON_VENV/bin/python
if [ ! -x "$python" ]; then python=python3; fi
script=$1
for need in $(sed -n 's/^# needs://p' "$script"); do
  case $need in
    wheels) ls "$TENON_WHEELS"/*/ >/dev/null 2>&1 ;;
    onnx-data) [ -d "$TENON_ONNX_DATA" ] ;;
    program:*) command -v "${need#program:}" >/dev/null 2>&1 ;;
    numpy | onnx | onnxruntime | sympy) "$python" -c "import $need" 2>/dev/null ;;
    *)
      echo "$script: needs $need, which is nothing that scripts/setup.sh brings"
      exit 1
      ;;
  esac || {
    echo "skipped: $need is missing (scripts/setup.sh test brings it when the network can be reached)"
    exit 77
  }
done

# Whether a script loads the library: it, or a module beside it that it imports, imports the package tenon.
loads_library() (
  cd "$(dirname "$1")" || exit 1
  todo=$(basename "$1") seen=
  while [ -n "$todo" ]; do
    if grep -qE '^ *(import|from) tenon' $todo; then exit 0; fi
    seen="$seen $todo " next=
    for name in $(sed -nE 's/^ *(import|from) //p' $todo | sed 's/[^a-z_]/ /g'); do
      case "$seen $next " in *" $name.py "*) continue ;; esac
      if [ -f "$name.py" ]; then next="$next $name.py"; fi
    done
    todo=$next
  done
  exit 1
)

# A sanitized library must find its runtime first when Python, which is not sanitized, loads it.
if [ -n "${TENON_SANITIZE:-}" ] && loads_library "$script"; then
  case $TENON_SANITIZE in
    *address*)
      LD_PRELOAD="$(cc -print-file-name=libasan.so) libstdc++.so.6" # which throws what ONNX Runtime throws
      ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 # Python's own
      export LD_PRELOAD ASAN_OPTIONS
      ;;
    *thread*)
      LD_PRELOAD=$(cc -print-file-name=libtsan.so)
      ORT_DISABLE_TELEMETRY=1 OPENBLAS_NUM_THREADS=1 # a fork beside threads of others can hang in ThreadSanitizer
      export LD_PRELOAD ORT_DISABLE_TELEMETRY OPENBLAS_NUM_THREADS
      ;;
  esac
fi
exec "$python" "$@"
