"""Silero VAD, both sample rates, its state carried over 20 calls, equals ONNX Runtime."""
# needs: numpy onnxruntime wheels
import numpy as np

from _compare import Pair, wheel

pair = Pair(wheel("silero_vad.onnx"))
for rate, samples in ((16000, 512), (8000, 256)):
    random = np.random.default_rng(rate)
    state = np.zeros((2, 1, 128), "f4")
    mine = state
    for call in range(20):
        audio = random.uniform(-1, 1, (1, samples)).astype("f4")
        inputs = {"input": audio, "state": state, "sr": np.array(rate, "i8")}
        want = pair.run(inputs, 1e-5, "vad %d call %d" % (rate, call))
        # Our own state is carried beside theirs, so that errors may add up.
        mine = pair.ours.run({"input": audio, "state": mine, "sr": np.array(rate, "i8")})["stateN"]
        state = want["stateN"]
        error = np.abs(mine - state).max()
        if error > 1e-5:
            pair.failed += 1
            print("FAIL vad %d call %d: carried state differs by %.3g" % (rate, call, error))
pair.finish()
