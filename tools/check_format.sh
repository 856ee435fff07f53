#!/bin/sh
# check_format.sh: every source file is as clang-format leaves it. Run from the source folder. Exit 77: no clang-format.
command -v clang-format >/dev/null || {
  echo "clang-format is not installed"
  exit 77
}
tools/files.sh src include test fuzz bench examples | xargs clang-format --dry-run -Werror
