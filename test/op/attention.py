# needs: numpy onnx onnxruntime
"""Attention, RotaryEmbedding and their recurrent kin against the reference implementation of the onnx package."""
import numpy as np

from _both import by_reference, check, finish, ints, real

AI = dict(domain="", judge=by_reference)

for b, s, t in ((1, 1, 1), (2, 3, 5), (1, 70, 70)):
    at = "%dx%dx%d" % (b, s, t)
    q, k, v = real(b, 4, s, 8), real(b, 2, t, 8), real(b, 2, t, 6)
    flat = [("q", real(b, s, 32)), ("k", real(b, t, 16)), ("v", real(b, t, 12))]
    four = [("q", q), ("k", k), ("v", v)]
    for causal in (0, 1):
        check(at, "Attention", four, ai_opset=23, is_causal=causal, **AI)
        check(at, "Attention", flat, ai_opset=24, is_causal=causal, q_num_heads=4, kv_num_heads=2, scale=0.3, **AI)
        check(at + " mask", "Attention", four + [("m", real(s, t))], ai_opset=24, is_causal=causal, softcap=1.5, **AI)
        check(at + " bool", "Attention", four + [("m", ints(0, 2, b, 1, s, t) > 0)], ai_opset=24, is_causal=causal, **AI)
        past = [("m", None), ("pk", real(b, 2, 4, 8)), ("pv", real(b, 2, 4, 6))]
        check(at + " past", "Attention", four + past, outputs=3, ai_opset=24, is_causal=causal, **AI)
        length = [("m", None), ("pk", None), ("pv", None), ("n", ints(0, t + 1, b))]
        check(at + " length", "Attention", four + length, ai_opset=24, is_causal=causal, **AI)
        for mode in range(4):  # the reference gives mode 0 after the cap
            check(at + " mode", "Attention", four + [("m", real(s, t))], outputs={0, 3}, ai_opset=24, is_causal=causal, softcap=2.0 if mode else 0.0, qk_matmul_output_mode=mode, **AI)
    check(at + " window", "Attention", four, ai_opset=25, left_window_size=2, right_window_size=1, **AI)
    check(at + " f64", "Attention", [(n, a.astype("f8")) for n, a in four], ai_opset=24, tolerance=1e-12, **AI)
    check(at + " f16", "Attention", [(n, a.astype("f2")) for n, a in four], ai_opset=24, tolerance=5e-3, **AI)
    for inter in (0, 1):
        places = [("c", real(20, 4)), ("s", real(20, 4)), ("at", ints(0, 20, b, s))]
        check(at, "RotaryEmbedding", [("x", q)] + places, ai_opset=23, interleaved=inter, **AI)
        check(at, "RotaryEmbedding", [("x", q), ("c", real(b, s, 3)), ("s", real(b, s, 3))], ai_opset=23, interleaved=inter, rotary_embedding_dim=6, **AI)
        check(at, "RotaryEmbedding", [("x", real(b, s, 32))] + places, ai_opset=23, interleaved=inter, num_heads=4, **AI)
    check(at, "SwiGLU", [("a", q), ("b", real(*q.shape))], ai_opset=28, alpha=1.25, **AI)
    for rule in ("linear", "gated", "delta", "gated_delta"):
        key = real(b, s, 2, 8)
        key /= np.linalg.norm(key, axis=-1, keepdims=True)
        line = [("q", real(b, s, 32)), ("k", key.reshape(b, s, 16)), ("v", real(b, s, 12)), ("p", real(b, 2, 8, 6))]
        line += [("g", -np.abs(real(b, s, 16 if s > 1 else 2)) if "gated" in rule else None), ("beta", np.abs(real(b, s, 2)) / 4 if "delta" in rule else None)]
        check(rule, "LinearAttention", line, outputs=2, ai_opset=27, q_num_heads=4, kv_num_heads=2, update_rule=rule, tolerance=1e-4, **AI)
    for act in ("none", "silu"):
        conv = [("x", real(b, 3, s)), ("w", real(3, 1, 4)), ("b", real(3)), ("p", real(b, 3, 3))]
        check(act, "CausalConvWithState", conv, outputs=2, ai_opset=27, activation=act, **AI)
        check(act, "CausalConvWithState", conv[:2], outputs=2, ai_opset=27, activation=act, **AI)

finish()
