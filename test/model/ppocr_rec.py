"""PP-OCRv4 text recognition at several widths and batches equals ONNX Runtime."""
# needs: numpy onnxruntime wheels
from _compare import Pair, image, wheel

pair = Pair(wheel("ch_PP-OCRv4_rec_infer.onnx"))
for batch in (1, 3):
    for width in (160, 320, 517):
        pair.run({"x": image((batch, 3, 48, width))}, 1e-4, "rec %dx%d" % (batch, width))
pair.finish()
