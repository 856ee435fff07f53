#!/bin/sh
# check_rt.sh SHARED: the run-time library needs nothing but libc, libm and the loader, and has less than 1 MiB without
# its symbols.
set -eu
export LC_ALL=C
for tool in strip readelf; do
  command -v $tool >/dev/null || exit 77
done
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -E '^(libc|libm|libpthread)\.so|^ld-linux|^ld64' || true)
if [ -n "$needed" ]; then
  echo "$1 also needs:" $needed
  exit 1
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strip -o "$work/stripped" "$1"
bytes=$(wc -c <"$work/stripped")
echo "$bytes bytes"
[ "$bytes" -lt 1048576 ]
