"""PP-OCRv4 text detection at three image sizes equals ONNX Runtime."""
# needs: numpy onnxruntime wheels
from _compare import Pair, image, wheel

pair = Pair(wheel("ch_PP-OCRv4_det_infer.onnx"))
for shape in [(1, 3, 320, 320), (1, 3, 640, 480), (2, 3, 736, 992), (1, 3, 320, 320)]:
    pair.run({"x": image(shape)}, 1e-4, "det %s" % (shape,))
pair.finish()
