#!/bin/sh
# check_headers.sh CC CXX GEN FLAG...: every header compiles alone. Those of src/ as C11; those of include/ as C11 and,
# when CXX is not empty, as C++17, with nothing but include/ in the search path. Run from the source folder.
set -u
cc=$1
cxx=$2
gen=$3
shift 3
failed=0
n=0

# compile NAME COMPILER -x LANGUAGE ARG...: a file that only includes NAME.
compile() {
  name=$1
  shift
  n=$((n + 1))
  printf '#include "%s"\n' "$name" | "$@" -fsyntax-only - || {
    echo "$name does not compile alone as $3 ($1)"
    failed=$((failed + 1))
  }
}

for header in $(find include -name '*.h' | sort); do
  name=${header#include/}
  compile "$name" "$cc" -x c -std=c11 "$@" -I include
  if [ -n "$cxx" ]; then compile "$name" "$cxx" -x c++ -std=c++17 -Wall -Wextra -Wpedantic -Werror -I include; fi
done
for header in $(find src -name '*.h' | sort); do
  compile "${header#src/}" "$cc" -x c -std=c11 -D_GNU_SOURCE "$@" -I src -I include -I "$gen"
done
echo "$n compilations, $failed failed"
[ "$n" -gt 0 ] && [ "$failed" -eq 0 ]
