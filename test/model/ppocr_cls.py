"""The text direction classifier for one and six images equals ONNX Runtime."""
# needs: numpy onnxruntime wheels
from _compare import Pair, image, wheel

pair = Pair(wheel("ch_ppocr_mobile_v2.0_cls_infer.onnx"))
for batch in (1, 6):
    pair.run({"x": image((batch, 3, 48, 192))}, 1e-4, "cls %d" % batch)
pair.finish()
