#!/bin/sh
# check_exports.sh LIST SHARED [ARCHIVE]: the shared library exports exactly the names of LIST, and every external name
# of the archive begins with tn_. With --update as the first argument, LIST is rewritten instead.
set -eu
export LC_ALL=C
update=no
if [ "$1" = --update ]; then
  update=yes
  shift
fi
list=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Names that a sanitizer or a coverage build adds are not ours.
nm -D --defined-only "$2" | awk '{print $NF}' | sed 's/@.*//' | grep -v -E '^__(odr_)?(asan|tsan|ubsan|start|stop)' |
  sort >"$work/have" || true
if [ "$update" = yes ]; then
  { grep '^#' "$list"; cat "$work/have"; } >"$work/list"
  cp "$work/list" "$list"
  exit 0
fi
grep -v '^#' "$list" | sort >"$work/want" || true
if ! diff "$work/want" "$work/have"; then
  echo "exported names differ from $list (<: listed only, >: exported only)"
  exit 1
fi
if [ $# -gt 2 ]; then
  nm -g --defined-only "$3" | awk 'NF == 3 {print $3}' | grep -v -E '^(tn_|__(odr_)?(asan|tsan|ubsan|start|stop|emutls))' >"$work/alien" || true
  if [ -s "$work/alien" ]; then
    cat "$work/alien"
    echo "external names without tn_ in $3"
    exit 1
  fi
fi
echo "$(wc -l <"$work/have") names exported"
