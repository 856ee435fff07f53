#!/bin/sh
# scan.sh SRC OUT: writes OUT/{op,onnx,kernel}_list.inc from the lines that define operators, importers and kernels.
# A definition is a line that begins with its macro; the lists are sorted, so they do not depend on file order.
#
#   src/op/*.c    TN_OP(relu) {            -> TN_OP_ROW(relu)         also TN_<KIND>OP..., TN_UNARY, TN_BINARY, TN_REDUCE,
#                                                                     TN_VARIADIC: the first argument is the id
#   src/op/*.c    TN_ONNX("", Relu, 6, ..  -> TN_ONNX_ROW(Relu_6_)    id: <OpType>_<since>_<domain, letters and digits>
#   src/kern/*.c  TN_KERNEL(gemm_f32)      -> TN_KERNEL_ROW(gemm_f32)
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

# put FILE: standard input, sorted, replaces FILE when it differs.
put() {
  sort >"$out/$1.new"
  twice=$(uniq -d "$out/$1.new")
  if [ -n "$twice" ]; then
    echo "scan.sh: defined twice: $twice" >&2
    rm -f "$out/$1.new"
    exit 1
  fi
  if cmp -s "$out/$1.new" "$out/$1"; then rm "$out/$1.new"; else mv "$out/$1.new" "$out/$1"; fi
}

lines op | sed -nE 's/^TN_([A-Z]*OP[A-Z_]*|UNARY|BINARY|REDUCE|VARIADIC)\( *([A-Za-z0-9_]+).*/TN_OP_ROW(\2)/p' |
  put op_list.inc

lines op | awk '
  /^TN_ONNX\(/ {
    sub(/^TN_ONNX\( */, "")
    n = split($0, arg, / *, */)
    gsub(/[^A-Za-z0-9]/, "", arg[1])
    if (n < 3) { print "scan.sh: a TN_ONNX line is cut short: " $0 > "/dev/stderr"; exit 1 }
    print "TN_ONNX_ROW(" arg[2] "_" arg[3] "_" arg[1] ")"
  }' | put onnx_list.inc

lines kern | sed -nE 's/^TN_KERNEL\( *([A-Za-z0-9_]+).*/TN_KERNEL_ROW(\1)/p' | put kernel_list.inc
