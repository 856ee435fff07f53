#!/bin/sh
# seeds.sh TENON [FOLDER [CASES]]: makes fuzz/corpus/program anew, small programs of every kind of step. Needed when the
# format of programs changes: seeds of another version are refused at once. With CASES, a folder of ONNX's test cases
# (backend/test/data/node), FOLDER also gets the small ones of their programs: every kernel.
set -eu
tenon=$1
out=${2:-$(dirname "$0")/corpus/program}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -f "$out"/*

# seed NAME [OPTION...], the model on standard input
seed() {
  name=$1
  shift
  { echo "tenon 1"; cat; } >"$work/$name.tn"
  "$tenon" compile "$work/$name.tn" -o "$out/$name" "$@" >/dev/null
}

# graph NAME BODY [OPTION...]: x is f32[N,4], n a trip count, c a condition
graph() {
  name=$1 body=$2
  shift 2
  seed "$name" "$@" <<END
graph @main(%x: f32[N,4], %n: i64[], %c: bool[]) -> (%y: ?) {
$body
}
END
}

graph identity '%y = identity(%x) : f32[N,4]'
graph shape '%y = shape(%x) : i64[2]'
graph size '%y = size(%x) : i64[]'
graph view '%y = flatten(%x) {axis = 0} : ?'
graph add '%a = add(%x, %x) : f32[N,4]
%y = mul(%a, %x) : f32[N,4]'
graph join '%a = concat(%x, %x) {axis = 0} : ?
%b = concat(%x, %a) {axis = 0} : ?
%y = concat(%b, %x, %b) {axis = 0} : ?'
graph if '%y = if(%c) region () {
  %a = identity(%x) : f32[N,4]
  yield (%a)
} region () {
  %s = flatten(%x) {axis = 1} : ?
  yield (%s)
} : ?'
graph loop '%y = loop(%n, %c, %x) region (%i: i64[], %k: bool[], %s: f32[N,4]) {
  %t = identity(%s) : f32[N,4]
  yield (%k, %t)
} : f32[N,4]'
graph nested '%y = loop(%n, %c, %x) region (%i: i64[], %k: bool[], %s: f32[N,4]) {
  %t = if(%k) region () {
    %a = identity(%s) : f32[N,4]
    yield (%a)
  } region () {
    yield (%x)
  } : f32[N,4]
  yield (%k, %t)
} : f32[N,4]'
graph scan '%y = scan(%x) {num_scan_inputs = 1} region (%r: f32[4]) {
  %t = identity(%r) : f32[4]
  yield (%t)
} : f32[N,4]'
graph late '%i = non_zero(%x) : ?
%y = shape(%i) : ?'
graph sequence '%s = sequence_construct(%x, %x) : ?
%y = sequence_at(%s, %n) : ?'
for miss in dynamic exact pad; do
  seed "gears-$miss" --input-shape 'x:-1,4' --dynamic-batch-size 2,4 --gear-miss $miss <<END
graph @main(%x: f32[N,4]) -> (%y: f32[N,4], %z: f32[N,4]) {
  %y = identity(%x) : f32[N,4]
  %z = identity(%y) : f32[N,4]
}
END
done

for model in "${3:-$work}"/*/model.onnx; do
  if [ ! -f "$model" ]; then continue; fi
  name=$(basename "$(dirname "$model")")
  "$tenon" compile "$model" -o "$out/$name" >/dev/null 2>&1 || continue # refused, as some are
  if [ "$(wc -c <"$out/$name")" -gt 16384 ]; then rm "$out/$name"; fi
done
