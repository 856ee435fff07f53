#!/usr/bin/env bash
# test.sh [PRESET] [CTEST-ARG...]: brings what is missing, builds and runs all tests. PRESET is a preset of
# CMakePresets.json: ci (default: optimised, with assertions), dev, release, asan, tsan, clang.
# The last line is the summary that ctest gives.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-ci}
if [ $# -gt 0 ]; then shift; fi

scripts/setup.sh test

mkdir -p build
log=build/$preset.configure.log
cmake --preset "$preset" >"$log" 2>&1 || {
  cat "$log"
  exit 1
}
cmake --build --preset "$preset"

run=()
# The fixed memory map of ThreadSanitizer cannot bear addresses that are randomised widely.
if [ "$preset" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then run=(setarch "$(uname -m)" -R); fi

status=0
"${run[@]}" ctest --preset "$preset" -j 2 "$@" 2>&1 | tee "build/$preset.ctest.log" || status=1
# Newer versions of ctest leave out the number of failures when it is zero; the form here is the same with all.
sed -nE 's/ tests passed out of / tests passed, 0 tests failed out of /; /tests passed, [0-9]+ tests? failed/p' \
  "build/$preset.ctest.log" | tail -n 1
exit $status
