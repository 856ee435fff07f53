#!/bin/sh
# scan.sh SRC OUT: writes OUT/{op,onnx,kernel}_list.inc from the lines that define operators, importers and kernels, and
# OUT/source_hash.inc, which tells one state of the sources from another.
# A definition is a line that begins with its macro; the lists are sorted, so they do not depend on file order.
#
#   src/op/*.c    TN_OP(relu) {              -> TN_OP_ROW(relu)          also TN_<FAMILY>_OP(, TN_UNARY(, TN_BINARY(,
#                                                                        TN_REDUCE(, TN_VARIADIC(: first argument
#   src/op/*.c    TN_ONNX(ai, Relu, 6, ..    -> TN_ONNX_ROW(ai, Relu, 6)    also TN_ONNX_REFUSED(
#   src/kern/*.c  TN_KERNEL(gemm_f32)        -> TN_KERNEL_ROW(gemm_f32)  also TN_<FAMILY>_KERNEL(
set -eu
export LC_ALL=C
src=$1
out=$2
mkdir -p "$out"

# lines FOLDER: the lines of a folder's files that may define something; none when there are no files yet.
lines() {
  for file in "$src/$1"/*.c; do
    if [ -f "$file" ]; then cat "$file"; fi
  done
}

# put FILE [SORT-OPTION...]: standard input, sorted, replaces FILE when it differs.
put() {
  name=$1
  shift
  sort "$@" >"$out/$name.new"
  twice=$(uniq -d "$out/$name.new")
  if [ -n "$twice" ]; then
    echo "scan.sh: defined twice: $twice" >&2
    rm -f "$out/$name.new"
    exit 1
  fi
  if cmp -s "$out/$name.new" "$out/$name"; then rm "$out/$name.new"; else mv "$out/$name.new" "$out/$name"; fi
}

lines op | sed -nE 's/^TN_(([A-Z]+_)?OP|UNARY|BINARY|REDUCE|VARIADIC)\( *([A-Za-z0-9_]+).*/TN_OP_ROW(\3)/p' | put op_list.inc

lines op | sed -nE 's/^TN_ONNX(_REFUSED)?\( *([A-Za-z0-9_]+) *, *([A-Za-z0-9_]+) *, *([0-9]+) *,.*/TN_ONNX_ROW(\2, \3, \4)/p' |
  put onnx_list.inc -t, -k1,1 -k2,2 -k3,3n

lines kern | sed -nE 's/^TN_([A-Z0-9]+_)*KERNEL\( *([A-Za-z0-9_]+).*/TN_KERNEL_ROW(\2)/p' | put kernel_list.inc

(cd "$src" && find . -name '*.[ch]' -o -name '*.def' | sort | xargs cat) | cksum | sed 's/.*/#define TN_SOURCE_HASH "&"/' |
  put source_hash.inc

# A definition that the lists would miss, because its line is broken before the arguments that name it.
if lines op | grep -E '^TN_ONNX(_REFUSED)?\(' | grep -v -E '^TN_ONNX(_REFUSED)?\( *[A-Za-z0-9_]+ *, *[A-Za-z0-9_]+ *, *[0-9]+ *,'; then
  echo "scan.sh: the line above lacks its tag, name and version" >&2
  exit 1
fi
