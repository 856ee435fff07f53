#!/bin/sh
# tidy.sh FILE GEN STAMP: clang-tidy over one file; touches STAMP when it is clean.
set -u
arch=
case $1 in
  */kern/*_v[34].c) arch=-march=x86-64-$(echo "$1" | sed 's/.*_\(v[34]\)\.c/\1/') ;;
esac
report=$(clang-tidy --quiet "$1" -- -std=c11 -D_GNU_SOURCE -DTN_DEBUG $arch -I src -I include -I "$2" 2>&1) || {
  echo "$report"
  exit 1
}
mkdir -p "$(dirname "$3")"
touch "$3"
