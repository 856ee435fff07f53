#!/bin/sh
# check_unity.sh CC GEN FLAG...: all .c files of a layer compile as one translation unit, which proves that the names of
# statics and macros are unique in it. Run from the source folder.
set -u
cc=$1
gen=$2
shift 2
failed=0
n=0
for layer in $(sed -n 's/^\([a-z]*\) *:.*/\1/p' tools/layers.txt); do
  files=$(find "src/$layer" -name '*.c' 2>/dev/null | sort)
  if [ -z "$files" ]; then continue; fi
  arch=
  if [ "$layer" = kern ] && [ "$(uname -m)" = x86_64 ]; then arch=-march=x86-64-v4; fi
  n=$((n + 1))
  for file in $files; do printf '#include "%s"\n' "${file#src/}"; done |
    "$cc" -x c -std=c11 -D_GNU_SOURCE "$@" $arch -I src -I include -I "$gen" -fsyntax-only - || {
    echo "layer $layer does not compile as one unit"
    failed=$((failed + 1))
  }
done
echo "$n layers, $failed failed"
[ "$n" -gt 0 ] && [ "$failed" -eq 0 ]
