#!/usr/bin/env bash
# demo.sh: builds tenon and runs one real model at three shapes; the model is compiled for all of them at once. The model
# is text detection of PP-OCRv4 (batch, height and width are free), or a small one of examples/ without network.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh demo
cmake --preset release >build/release.configure.log 2>&1 || {
  cat build/release.configure.log
  exit 1
}
cmake --build --preset release --target tenon
tenon=build/release/tenon

model=${TENON_WHEELS:-build/wheels}/rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx
shapes=(x=random:1x3x320x320 x=random:1x3x640x480 x=random:2x3x736x992)
if [ ! -f "$model" ]; then
  # Each line of a .shapes file holds the inputs of one run of the model beside it.
  sheet=$(find examples -name '*.shapes' | sort | head -n 1)
  model=${sheet%.shapes}.onnx
  mapfile -t shapes <"$sheet"
fi

echo "== $model"
"$tenon" info "$model"
program=build/demo.tnp
echo
echo "\$ tenon compile $(basename "$model") -o $program"
"$tenon" compile "$model" -o "$program"
for shape in "${shapes[@]}"; do
  args=()
  for input in $shape; do args+=(--input "$input"); done
  echo
  echo "\$ tenon run $program ${args[*]} --repeat 3"
  "$tenon" run "$program" "${args[@]}" --repeat 3
done
