#!/usr/bin/env bash
# fuzz.sh [SECONDS] [NAME...]: builds the fuzz targets with clang, ASan and UBSan and runs each for SECONDS (60), two at
# a time. New inputs go to build/fuzz/work/NAME, findings to build/fuzz/found/NAME. Fails when one is found.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
if [ $# -gt 0 ]; then shift; fi
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
  for file in fuzz/*_fuzz.c; do
    name=$(basename "$file" _fuzz.c)
    names+=("$name")
  done
fi

cmake --preset fuzz >build/fuzz.configure.log 2>&1 || {
  cat build/fuzz.configure.log
  exit 1
}
cmake --build --preset fuzz --target "${names[@]/#/fuzz_}"

fuzz_one() {
  local name=$1 work=build/fuzz/work/$1 found=build/fuzz/found/$1 log=build/fuzz/$1.log
  mkdir -p "$work" "$found"
  local options=(-max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1)
  if [ -f "fuzz/$name.dict" ]; then options+=(-dict="fuzz/$name.dict"); fi
  if "build/fuzz/fuzz/fuzz_$name" "${options[@]}" -artifact_prefix="$found/" "$work" "fuzz/corpus/$name" >"$log" 2>&1; then
    echo "fuzz_$name: clean, $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
  else
    tail -n 40 "$log"
    echo "fuzz_$name: FAILED, the input is in $found"
    return 1
  fi
}

failed=0
for ((i = 0; i < ${#names[@]}; i += 2)); do
  fuzz_one "${names[i]}" &
  first=$!
  if ((i + 1 < ${#names[@]})); then fuzz_one "${names[i + 1]}" || failed=1; fi
  wait "$first" || failed=1
done
exit $failed
