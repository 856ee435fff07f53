#!/bin/sh
# last_operators.sh [N]: the last N operators that were added (10), each with the files that name it.
set -eu
cd "$(dirname "$0")/.."
git log --reverse -p --format= -- src/op | sed -n 's/^+TN_OP(\([a-z0-9_]*\)).*/\1/p' | awk '!seen[$0]++' | while read -r id; do
  if git grep -q "TN_OP($id)" -- src/op; then echo "$id"; fi
done | tail -n "${1:-10}" | while read -r id; do
  echo "$id: $(git grep -l -E "TN_OP\($id\)|TN_KERNEL\($id,|TN_ONNX[A-Z_]*\(.*, $id,|\"$id\"" -- src test tools | tr '\n' ' ')"
done
