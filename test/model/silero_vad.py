"""Silero VAD, both sample rates, its state carried over 20 calls, equals ONNX Runtime.

The state grows to about 20; its error is measured against its size. (Against the same model in double precision both
sides are off by up to 1e-4 in absolute terms: doc/testing.md.)"""
# needs: numpy onnxruntime wheels
import numpy as np

from _compare import Pair, wheel

pair = Pair(wheel("silero_vad.onnx"))
for rate, samples in ((16000, 512), (8000, 256)):
    random = np.random.default_rng(rate)
    theirs = ours = np.zeros((2, 1, 128), "f4")
    worst_output = worst_state = 0
    for call in range(20):
        audio = random.uniform(-1, 1, (1, samples)).astype("f4")
        sr = np.array(rate, "i8")
        output, theirs = pair.theirs.run(None, {"input": audio, "state": theirs, "sr": sr})
        got = pair.ours.run({"input": audio, "state": ours, "sr": sr})
        ours = got["stateN"]  # our own state: errors may add up
        assert got["output"].shape == output.shape and ours.shape == theirs.shape
        worst_output = max(worst_output, np.abs(got["output"] - output).max())
        worst_state = max(worst_state, np.abs(ours - theirs).max() / max(1, np.abs(theirs).max()))
    ok = worst_output <= 1e-5 and worst_state <= 1e-5
    pair.failed += not ok
    print("%s vad %d: output %.3g, state %.3g of its size (allowed 1e-5)" % ("ok  " if ok else "FAIL", rate, worst_output, worst_state))
pair.finish()
