# needs: numpy onnx onnxruntime
"""Operators of com.microsoft against ONNX Runtime."""
import ml_dtypes
import numpy as np

from _both import check, finish, ints, real, rng

for b, s in ((1, 1), (2, 5)):
    x, skip = real(b, s, 8), real(b, s, 8)
    at = "%dx%d" % (b, s)
    check(at, "Gelu", [("x", x)])
    check(at, "BiasGelu", [("x", x), ("b", real(8))])
    check(at, "FastGelu", [("x", x)], tolerance=1e-4)
    check(at, "FastGelu", [("x", x), ("b", real(8))], tolerance=1e-4)
    check(at, "QuickGelu", [("x", x)], alpha=1.3)
    check(at, "SkipLayerNormalization", [("x", x), ("skip", skip), ("g", real(8)), ("b", real(8)), ("c", real(8))], outputs={0, 3})
    check(at, "SkipLayerNormalization", [("x", x), ("skip", skip), ("g", real(8))], epsilon=0.01)
    check(at, "SkipSimplifiedLayerNormalization", [("x", x), ("skip", skip), ("g", real(8)), ("c", real(8))], outputs={0, 3})
    check(at, "SimplifiedLayerNormalization", [("x", x), ("g", real(8))], domain="", epsilon=1e-5)
    check(at, "LayerNormalization", [("x", x), ("g", real(8)), ("b", real(8))], domain="", ai_opset=14, epsilon=1e-3)
    ids = ints(0, 10, b, s, dtype="i4")
    embed = [("ids", ids), ("seg", ints(0, 2, b, s, dtype="i4")), ("w", real(10, 8)), ("p", real(6, 8)), ("sw", real(2, 8)), ("g", real(8)), ("b", real(8))]
    check(at, "EmbedLayerNormalization", embed + [("mask", ints(0, 2, b, s, dtype="i4"))], outputs=3, constants=("w", "p", "sw", "g", "b"))
    check(at, "EmbedLayerNormalization", embed[:1] + [("", None)] + embed[2:4] + [("", None)] + embed[5:], outputs=2, constants=("w", "p", "g", "b"))
    # Attention
    for causal in (0, 1):
        check(at, "Attention", [("x", x), ("w", real(8, 24)), ("b", real(24))], num_heads=2, unidirectional=causal)
    # Where no key is seen, -10000 is added to all, which leaves a float three digits.
    check(at + " mask2", "Attention", [("x", x), ("w", real(8, 24)), ("b", real(24)), ("m", ints(0, 2, b, s, dtype="i4"))], num_heads=2, tolerance=1e-3)
    check(at + " mask1", "Attention", [("x", x), ("w", real(8, 24)), ("b", real(24)), ("m", ints(1, s + 1, b, dtype="i4"))], num_heads=2)
    past = real(2, b, 2, 3, 4)
    check(at + " past", "Attention", [("x", x), ("w", real(8, 24)), ("b", real(24)), ("m", None), ("past", past)], outputs=2, num_heads=2, unidirectional=1)
    check(at + " mask3", "Attention", [("x", x), ("w", real(8, 24)), ("b", real(24)), ("m", ints(0, 2, b, s, s + 3, dtype="i4")), ("past", past)], outputs=2, num_heads=2)
    # MultiHeadAttention
    k, v = real(b, 7, 8), real(b, 7, 6)
    check(at, "MultiHeadAttention", [("q", x), ("k", k), ("v", v)], num_heads=2)
    check(at + " bias", "MultiHeadAttention", [("q", x), ("k", k), ("v", v), ("b", real(22)), ("m", ints(0, 2, b, 7, dtype="i4")), ("ab", real(1, 2, s, 7))], num_heads=2)
    packed = real(b, s, 2, 3, 4)
    apart = [(n, np.ascontiguousarray(packed[:, :, :, i]).reshape(b, s, 8)) for i, n in enumerate("qkv")]
    check(at + " packed", "MultiHeadAttention", [("q", packed)], num_heads=2, scale=0.3, instead=apart)
    packed = np.stack([part.reshape(b, s, 2, 4) for _, part in apart[1:]], axis=3)
    check(at + " kv", "MultiHeadAttention", [("q", x), ("k", packed)], num_heads=2, instead=[("q", x)] + apart[1:])
    check(at + " past", "MultiHeadAttention", [("q", x), ("k", x), ("v", skip), ("b", None), ("m", None), ("ab", None), ("pk", real(b, 2, 3, 4)), ("pv", real(b, 2, 3, 4))], outputs=3, num_heads=2, unidirectional=1)
    for mask in (None, ints(0, 2, b, s, dtype="i4")):
        for causal in (0, 1):
            check(at + " products", "MultiHeadAttention", [("q", x), ("k", x), ("v", skip), ("b", None), ("m", mask), ("ab", real(1, 2, s, s))], outputs={0, 3}, types={3: 1}, num_heads=2, unidirectional=causal, tolerance=1e-3)
    # RotaryEmbedding
    cos, sin = real(20, 2), real(20, 2)
    for inter in (0, 1):
        check(at, "RotaryEmbedding", [("x", x), ("at", ints(0, 20, b, s)), ("c", cos), ("s", sin)], interleaved=inter)
        check(at + " scale", "RotaryEmbedding", [("x", x), ("at", ints(0, 20, b, s)), ("c", cos), ("s", sin)], interleaved=inter, scale=2.0)
        check(at + " packed", "RotaryEmbedding", [("x", real(1, 30, 8)), ("at", ints(0, 20, 1, 30)), ("c", cos), ("s", sin)], interleaved=inter, is_packed_batching=1)
        check(at + " 4d", "RotaryEmbedding", [("x", real(b, 2, s, 4)), ("at", np.array([3])), ("c", cos), ("s", sin)], interleaved=inter)

for m, k, n in ((1, 32, 5), (4, 64, 16)):
    at = "%dx%dx%d" % (m, k, n)
    check(at, "FusedMatMul", [("a", real(2, k, m)), ("b", real(2, n, k))], transA=1, transB=1, alpha=0.5)
    check(at, "FusedMatMul", [("a", real(m, 2, k)), ("b", real(2, k, n))], transBatchA=1)
    for act, params in ("Tanh", {}), ("Elu", {"activation_alpha": 0.7}), ("HardSigmoid", {"activation_alpha": 0.3, "activation_beta": 0.1}):
        check(act, "FusedGemm", [("a", real(k, m)), ("b", real(n, k)), ("c", real(n))], transA=1, transB=1, alpha=0.5, activation=act, **params)
    for act, params in ("Relu", {}), ("Sigmoid", {}), ("Softplus", {}), ("Softsign", {}), ("LeakyRelu", {"activation_alpha": 0.02}), ("ThresholdedRelu", {"activation_alpha": 0.5}):
        check(act, "FusedGemm", [("a", real(m, k)), ("b", real(k, n))], activation=act, **params)
    check(at, "DynamicQuantizeMatMul", [("a", real(m, k)), ("b", ints(0, 255, k, n, dtype="u1")), ("s", real(1)), ("z", ints(0, 255, 1, dtype="u1")), ("c", real(n))], constants=("b", "s", "z"), tolerance=1e-4)
    for bits in (2, 4, 8):
        blocks, blob = k // 32, 32 * bits // 8
        nbits = [("a", real(2, m, k)), ("b", ints(0, 256, n, blocks, blob, dtype="u1")), ("s", real(n, blocks))]
        check(at, "MatMulNBits", nbits, constants=("b", "s"), K=k, N=n, bits=bits, block_size=32, tolerance=1e-4)
        zeros = ints(0, 256, n, (blocks * bits + 7) // 8, dtype="u1")
        if bits == 4:  # of 2 bits, ONNX Runtime takes g_idx of zeros for something else than none; of 8 it has none
            order = [("z", None), ("g", ints(0, blocks, k, dtype="i4"))]
            check(at + " order", "MatMulNBits", nbits + order, constants=("b", "s", "g"), K=k, N=n, bits=bits, block_size=32, tolerance=1e-4)
        if bits < 8:  # ONNX Runtime's limit
            check(at + " real zero", "MatMulNBits", nbits + [("z", real(n, blocks))], constants=("b", "s", "z"), K=k, N=n, bits=bits, block_size=32, tolerance=1e-4)
        check(at + " zero", "MatMulNBits", nbits + [("z", zeros), ("g", None), ("c", real(n))], constants=("b", "s", "z", "c"), K=k, N=n, bits=bits, block_size=32, tolerance=1e-4)

image = real(2, 3, 6, 5)
for act, params in (("Relu", None), ("Tanh", None), ("LeakyRelu", [0.1]), ("Clip", [-0.5, 0.5]), ("HardSigmoid", [0.3, 0.4])):
    check(act, "FusedConv", [("x", image), ("w", real(4, 3, 3, 3)), ("b", real(4))], activation=act, pads=[1, 1, 1, 1], **({"activation_params": params} if params else {}))
check("sum", "FusedConv", [("x", image), ("w", real(4, 3, 3, 3)), ("b", real(4)), ("z", real(2, 4, 4, 3))], activation="Relu", kernel_shape=[3, 3])

scale = lambda v: np.array(v, "f4")
zero = lambda v: np.array(v, "u1")
a, b = ints(0, 256, 2, 3, dtype="u1"), ints(0, 256, 3, dtype="u1")
for op in ("QLinearAdd", "QLinearMul"):
    check("", op, [("a", a), ("as", scale(0.1)), ("az", zero(100)), ("b", b), ("bs", scale(0.05)), ("bz", zero(3)), ("cs", scale(0.3)), ("cz", zero(128))], tolerance=0.02)
one = [("xs", scale(0.05)), ("xz", zero(120)), ("ys", scale(0.01)), ("yz", zero(2))]
check("", "QLinearSigmoid", [("x", a)] + one, constants=("xs", "xz", "ys", "yz"), tolerance=0.02)
for opset, axes in ((12, (0, 1, -1)), (13, (0, 1, -1))):
    for axis in axes:
        check("opset %d, axis %d" % (opset, axis), "QLinearSoftmax", [("x", ints(0, 256, 3, 4, 5, dtype="u1"))] + one, constants=("xs", "xz", "ys", "yz"), opset=opset, axis=axis, tolerance=0.011)
    check("opset %d" % opset, "QLinearSoftmax", [("x", ints(0, 256, 3, 4, 5, dtype="u1"))] + one, constants=("xs", "xz", "ys", "yz"), opset=opset, tolerance=0.011)
pixels = ints(0, 256, 1, 3, 6, 6, dtype="u1")
near = [("xs", scale(0.05)), ("xz", zero(120)), ("ys", scale(0.05)), ("yz", zero(110))]
check("", "QLinearAveragePool", [("x", pixels)] + near, constants=("xs", "xz", "ys", "yz"), kernel_shape=[3, 3], strides=[1, 1], tolerance=0.02)
check("", "QLinearGlobalAveragePool", [("x", pixels)] + near, tolerance=0.02)
check("last", "QLinearGlobalAveragePool", [("x", pixels)] + near, channels_last=1, tolerance=0.02)
check("", "NhwcMaxPool", [("x", pixels)], kernel_shape=[2, 2], strides=[2, 2])
check("", "QLinearConcat", [("ys", scale(0.1)), ("yz", zero(100)), ("a", a), ("as", scale(0.1)), ("az", zero(100)), ("b", a), ("bs", scale(0.05)), ("bz", zero(3))], constants=("ys", "yz", "as", "az", "bs", "bz"), axis=0, tolerance=0.02)
table = ints(0, 256, 10, 16, dtype="u1")
check("", "GatherBlockQuantized", [("d", table), ("i", ints(0, 10, 3, 2)), ("s", real(10, 2))], constants=("d", "s"), bits=4, block_size=16, quantize_axis=1, gather_axis=0)
check("zero", "GatherBlockQuantized", [("d", table), ("i", ints(0, 10, 3)), ("s", real(10, 2)), ("z", ints(0, 256, 10, 1, dtype="u1"))], constants=("d", "s", "z"), bits=4, block_size=16, quantize_axis=1, gather_axis=0)
check("one row", "GatherBlockQuantized", [("d", table), ("i", np.array(3)), ("s", real(10, 2))], constants=("d", "s"), bits=4, block_size=16, quantize_axis=1, gather_axis=0)
blocks = [("x", ints(0, 256, 6, dtype="u1")), ("s", real(3)), ("z", ints(0, 256, 3, dtype="u1"))]
check("blocks of a vector", "DequantizeLinear", blocks, domain="", axis=0, block_size=2)
check("2 bits", "GatherBlockQuantized", [("d", table), ("i", ints(-10, 14, 3, 2)), ("s", real(10, 4)), ("z", ints(0, 256, 10, 1, dtype="u1"))], constants=("d", "s", "z"), bits=2, block_size=16, quantize_axis=1, gather_axis=0)
check("8 bits", "GatherBlockQuantized", [("d", table), ("i", ints(0, 10, 3)), ("s", real(10, 1))], constants=("d", "s"), bits=8, block_size=16, quantize_axis=-1, gather_axis=0)
for kind in (ml_dtypes.int4, ml_dtypes.uint4):
    cube = ints(0, 8, 3, 20, 4).astype(kind)
    for gathered in (0, 1, 2, -1):
        for quantized in (0, 1, 2):
            blocks = [-(-d // 16) if i == quantized else d for i, d in enumerate(cube.shape)]
            size = cube.shape[gathered]
            given = [("d", cube), ("i", ints(-size - 1, size + 1, 2, 2, dtype="i4")), ("s", real(*blocks)), ("z", ints(0, 8, *blocks).astype(kind))]
            for n in (3, 4):
                check("%s %d %d" % (kind.__name__, gathered, quantized), "GatherBlockQuantized", given[:n], constants=("d", "s", "z"), block_size=16, quantize_axis=quantized, gather_axis=gathered)

# GroupQueryAttention: prompts, then one token after a past.
for rotary in (0, 1):
    cos, sin = real(16, 8), real(16, 8)
    extra = [("cos", cos), ("sin", sin)] if rotary else []
    for b, s in ((1, 4), (2, 3)):
        gqa = [("q", real(b, s, 64)), ("k", real(b, s, 32)), ("v", real(b, s, 32)), ("pk", real(b, 2, 0, 16)), ("pv", real(b, 2, 0, 16)), ("n", np.full(b, s - 1, "i4")), ("t", np.array(s, "i4"))]
        check("prompt", "GroupQueryAttention", gqa + extra, outputs=3, num_heads=4, kv_num_heads=2, do_rotary=rotary)
        check("all", "GroupQueryAttention", gqa + extra, outputs=3, num_heads=4, kv_num_heads=2, do_rotary=rotary, causal=0)
        check("window", "GroupQueryAttention", gqa + extra, outputs=3, num_heads=4, kv_num_heads=2, do_rotary=rotary, local_window_size=2)
        check("cap", "GroupQueryAttention", gqa + extra, outputs=3, num_heads=4, kv_num_heads=2, do_rotary=rotary, softcap=2.0, scale=0.4)
        packed = [("q", real(b, s, 128)), ("k", None), ("v", None)] + gqa[3:]
        heads = dict(outputs=4, num_heads=4, kv_num_heads=2, do_rotary=rotary)
        short = [("q", real(b, 1, 64)), ("k", real(b, 1, 32)), ("v", real(b, 1, 32)), ("pk", real(b, 2, 5, 16)), ("pv", real(b, 2, 5, 16)), ("n", ints(2, 6, b, dtype="i4")), ("t", np.array(6, "i4"))]
        tail = (extra or [("cos", None), ("sin", None)]) + [("p", None)]
        for kind in (1, 2):
            for more in ({}, {"softcap": 2.0}, {"local_window_size": 2}, {"causal": 0}, {"smooth_softmax": 1}):
                check("products %s" % more, "GroupQueryAttention", gqa + extra, qk_output=kind, **heads, **more)
            check("products of a token", "GroupQueryAttention", short + extra, qk_output=kind, **heads)
            check("products, bias", "GroupQueryAttention", gqa + tail + [("b", real(b, 4, s, s))], qk_output=kind, **heads)
        heads["outputs"] = 3
        check("sink", "GroupQueryAttention", gqa + tail + [("b", real(1, 1, s, s)), ("h", real(4))], **heads)
        check("smooth", "GroupQueryAttention", short + extra, smooth_softmax=1, **heads)
        if rotary:  # of several rows ONNX Runtime reads the first position alone and counts on
            check("positions", "GroupQueryAttention", gqa + extra + [("p", np.tile(np.arange(7, 7 + s), (b, 1)))], **heads)
            check("position", "GroupQueryAttention", short + extra + [("p", ints(0, 16, b, 1))], **heads)
        check("packed", "GroupQueryAttention", packed + extra, outputs=3, num_heads=4, kv_num_heads=2, do_rotary=rotary)
        token = [("q", real(b, 1, 64)), ("k", real(b, 1, 32)), ("v", real(b, 1, 32)), ("pk", real(b, 2, 5, 16)), ("pv", real(b, 2, 5, 16)), ("n", np.full(b, 5, "i4")), ("t", np.array(6, "i4"))]
        check("token", "GroupQueryAttention", token + extra, outputs=3, num_heads=4, kv_num_heads=2, do_rotary=rotary, rotary_interleaved=rotary)

# The same over caches of integers: the new rows are rounded to them first.
for bits, kind in ((8, "i1"), (4, "u1")):
    for how in ("PER_TENSOR", "PER_CHANNEL"):
        scales = [np.array([0.05 if bits == 8 else 0.4], "f4") if how == "PER_TENSOR" else rng.uniform(0.02, 0.5, (1, 2, 1, 16)).astype("f4") for _ in range(2)]
        for rotary in (0, 1):
            for past, s in ((0, 3), (4, 1)):
                cache = lambda: ints(-50, 50, 2, 2, past, 16, dtype="i1") if bits == 8 else ints(0, 256, 2, 2, past, 8, dtype="u1")
                turn = [("cos", real(9, 8)), ("sin", real(9, 8))] if rotary else [("cos", None), ("sin", None)]
                tail = [("pk", cache()), ("pv", cache()), ("n", np.full(2, past + s - 1, "i4")), ("t", np.array(past + s, "i4"))] + turn + [("p", None), ("b", None), ("h", None), ("ks", scales[0]), ("vs", scales[1])]
                given = dict(outputs=3, num_heads=4, kv_num_heads=2, do_rotary=rotary, k_quant_type=how, v_quant_type=how, kv_cache_bit_width=bits)
                check("%s of %d bits, past %d" % (how, bits, past), "GroupQueryAttention", [("q", real(2, s, 64)), ("k", real(2, s, 32)), ("v", real(2, s, 32))] + tail, **given)
                check("packed, %s of %d bits, past %d" % (how, bits, past), "GroupQueryAttention", [("q", real(2, s, 128)), ("k", None), ("v", None)] + tail, rotary_interleaved=rotary, **given)

finish()
