#!/bin/sh
# check_format.sh: every source file is as clang-format leaves it; those that are not are named. Run from the source
# folder. Exit 77: no clang-format.
set -u
command -v clang-format >/dev/null || {
  echo "clang-format is not installed"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tools/files.sh src include test fuzz bench examples tools >"$work/files"
xargs clang-format --dry-run -Werror <"$work/files" 2>"$work/report" && exit 0
sed -n 's/^\([^ :]*\.[ch]\):\([0-9]*\):.*error: code should.*/\1/p' "$work/report" | sort | uniq -c
echo "files and places that clang-format would change"
exit 1
