"""Models with small random weights, exported by torch: what people convert, without a download.

Each row of MODELS is a function that gives (module, inputs, outputs, sizes): the module takes the inputs in order;
an input is (name, kind, dims), its dims numbers or expressions of the names in `sizes`, whose rows are the shapes to
run. The modules of `transformers` are used where there is one; the U-Net and the detector are written out below."""
import torch
from torch import nn

LAYERS, HEADS, WIDTH, VOCABULARY = 2, 4, 32, 99
HEAD = WIDTH // HEADS
DECODING = [{"batch": 2, "seq": 3, "past": 5}, {"batch": 1, "seq": 1, "past": 17}, {"batch": 3, "seq": 6, "past": 1}]


class Decoder(nn.Module):
    """A causal decoder: one flat list of past keys and values in, logits and the present ones out."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask, *past):
        from transformers import DynamicCache
        cache = DynamicCache(list(zip(past[0::2], past[1::2])))
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
        return [out.logits] + [t for layer in out.past_key_values for t in layer[:2]]


def decoder(model, kv_heads=HEADS):
    inputs = [("input_ids", "id", ("batch", "seq")), ("attention_mask", "left", ("batch", "past + seq"))]
    outputs = ["logits"]
    for i in range(LAYERS):
        for what in ("key", "value"):
            inputs.append(("past_key_values.%d.%s" % (i, what), "real", ("batch", kv_heads, "past", HEAD)))
            outputs.append("present.%d.%s" % (i, what))
    return Decoder(model), inputs, outputs, DECODING


def gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel
    return decoder(GPT2LMHeadModel(GPT2Config(vocab_size=VOCABULARY, n_positions=1024, n_embd=WIDTH,
                                            n_layer=LAYERS, n_head=HEADS, bos_token_id=1, eos_token_id=2)))


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM
    return decoder(LlamaForCausalLM(LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=2, max_position_embeddings=64)), 2)


def qwen2():
    from transformers import Qwen2Config, Qwen2ForCausalLM
    return decoder(Qwen2ForCausalLM(Qwen2Config(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=2, max_position_embeddings=64)), 2)


def qwen3():
    from transformers import Qwen3Config, Qwen3ForCausalLM
    return decoder(Qwen3ForCausalLM(Qwen3Config(
        vocab_size=VOCABULARY, hidden_size=WIDTH, intermediate_size=48, num_hidden_layers=LAYERS, head_dim=HEAD,
        num_attention_heads=HEADS, num_key_value_heads=2, max_position_embeddings=64)), 2)


class Named(nn.Module):
    """`call` of a model, as a module."""

    def __init__(self, model, call):
        super().__init__()
        self.model, self.call = model, call

    def forward(self, *arguments):
        return self.call(self.model, *arguments)


def bert():
    from transformers import BertConfig, BertModel
    model = BertModel(BertConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS,
                                 num_attention_heads=HEADS, intermediate_size=48, max_position_embeddings=64))
    call = lambda m, ids, mask, kinds: tuple(m(input_ids=ids, attention_mask=mask, token_type_ids=kinds)[:2])
    dims = ("batch", "seq")
    return (Named(model, call), [("input_ids", "id", dims), ("attention_mask", "mask", dims), ("token_type_ids", "bit", dims)],
            ["last_hidden_state", "pooler_output"], [{"batch": 2, "seq": 7}, {"batch": 1, "seq": 33}, {"batch": 4, "seq": 2}])


def deberta():
    from transformers import DebertaV2Config, DebertaV2Model
    model = DebertaV2Model(DebertaV2Config(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=48,
        max_position_embeddings=64, relative_attention=True, pos_att_type=["c2p", "p2c"], position_buckets=8, norm_rel_ebd="layer_norm",
        share_att_key=True, position_biased_input=False, type_vocab_size=0, conv_kernel_size=3, conv_act="gelu"))
    call = lambda m, ids, mask: m(input_ids=ids, attention_mask=mask)[0]
    dims = ("batch", "seq")
    return (Named(model, call), [("input_ids", "id", dims), ("attention_mask", "mask", dims)], ["last_hidden_state"],
            [{"batch": 2, "seq": 7}, {"batch": 1, "seq": 33}, {"batch": 4, "seq": 2}])


def t5():
    from transformers import T5Config, T5ForConditionalGeneration
    return T5ForConditionalGeneration(T5Config(
        vocab_size=VOCABULARY, d_model=WIDTH, d_kv=HEAD, d_ff=48, num_layers=LAYERS, num_decoder_layers=LAYERS,
        num_heads=HEADS, decoder_start_token_id=0, attn_implementation="eager"))


def t5_encoder():
    call = lambda m, ids, mask: m.encoder(input_ids=ids, attention_mask=mask)[0]
    dims = ("batch", "encoder_seq")
    return (Named(t5(), call), [("input_ids", "id", dims), ("attention_mask", "mask", dims)], ["last_hidden_state"],
            [{"batch": 2, "encoder_seq": 7}, {"batch": 1, "encoder_seq": 40}, {"batch": 3, "encoder_seq": 2}])


def t5_decoder():
    call = lambda m, ids, mask, hidden: m(decoder_input_ids=ids, attention_mask=mask, encoder_outputs=(hidden,), use_cache=False).logits
    return (Named(t5(), call),
            [("decoder_input_ids", "id", ("batch", "seq")), ("encoder_attention_mask", "mask", ("batch", "encoder_seq")),
             ("encoder_hidden_states", "real", ("batch", "encoder_seq", WIDTH))], ["logits"],
            [{"batch": 2, "seq": 4, "encoder_seq": 7}, {"batch": 1, "seq": 9, "encoder_seq": 31}, {"batch": 3, "seq": 2, "encoder_seq": 3}])


def cached_decoding(model):
    """A decoder with its own cache and one over the encoder's states, both given and both returned."""

    def call(m, ids, hidden, *past):
        from transformers import DynamicCache, EncoderDecoderCache
        own = DynamicCache(list(zip(past[0::4], past[1::4])))
        cross = DynamicCache(list(zip(past[2::4], past[3::4])))
        out = m(decoder_input_ids=ids, encoder_outputs=(hidden,), past_key_values=EncoderDecoderCache(own, cross), use_cache=True)
        present = out.past_key_values.self_attention_cache
        return [out.logits] + [t for layer in present for t in layer[:2]]

    inputs = [("decoder_input_ids", "id", ("batch", 1)), ("encoder_hidden_states", "real", ("batch", "encoder_seq", WIDTH))]
    outputs = ["logits"]
    for i in range(LAYERS):
        for side, length in (("decoder", "past"), ("encoder", "encoder_seq")):
            for what in ("key", "value"):
                inputs.append(("past_key_values.%d.%s.%s" % (i, side, what), "real", ("batch", HEADS, length, HEAD)))
                if side == "decoder":
                    outputs.append("present.%d.decoder.%s" % (i, what))
    return Named(model, call), inputs, outputs


def t5_decoder_with_past():
    module, inputs, outputs = cached_decoding(t5())
    return module, inputs, outputs, [{"batch": 2, "past": 4, "encoder_seq": 7}, {"batch": 1, "past": 12, "encoder_seq": 31},
                                     {"batch": 3, "past": 2, "encoder_seq": 3}]


def vit():
    from transformers import ViTConfig, ViTForImageClassification
    model = ViTForImageClassification(ViTConfig(
        hidden_size=WIDTH, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=48, image_size=32,
        patch_size=8, num_labels=10))
    call = lambda m, pixels: m(pixels, interpolate_pos_encoding=True).logits
    return (Named(model, call), [("pixel_values", "real", ("batch", 3, "height", "width"))], ["logits"],
            [{"batch": 2, "height": 48, "width": 64}, {"batch": 1, "height": 32, "width": 32}, {"batch": 3, "height": 80, "width": 40}])


def whisper():
    from transformers import WhisperConfig, WhisperForConditionalGeneration
    return WhisperForConditionalGeneration(WhisperConfig(
        vocab_size=VOCABULARY, num_mel_bins=16, encoder_layers=LAYERS, decoder_layers=LAYERS, encoder_attention_heads=HEADS,
        decoder_attention_heads=HEADS, encoder_ffn_dim=48, decoder_ffn_dim=48, d_model=WIDTH, max_source_positions=30,
        max_target_positions=1024, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        suppress_tokens=None, begin_suppress_tokens=None))


def whisper_encoder():
    # The encoder takes one length only: that of its positions.
    return (Named(whisper(), lambda m, x: m.model.encoder(x)[0]), [("input_features", "real", ("batch", 16, 60))],
            ["last_hidden_state"], [{"batch": 2}, {"batch": 1}, {"batch": 5}])


def whisper_decoder():
    call = lambda m, ids, mask, hidden: m(decoder_input_ids=ids, decoder_attention_mask=mask, encoder_outputs=(hidden,), use_cache=False).logits
    return (Named(whisper(), call),
            [("decoder_input_ids", "id", ("batch", "seq")), ("decoder_attention_mask", "mask", ("batch", "seq")),
             ("encoder_hidden_states", "real", ("batch", "encoder_seq", WIDTH))], ["logits"],
            [{"batch": 2, "seq": 4, "encoder_seq": 30}, {"batch": 1, "seq": 9, "encoder_seq": 11}, {"batch": 3, "seq": 2, "encoder_seq": 3}])


def whisper_decoder_with_past():
    module, inputs, outputs = cached_decoding(whisper())
    return module, inputs, outputs, [{"batch": 2, "past": 4, "encoder_seq": 30}, {"batch": 1, "past": 12, "encoder_seq": 11},
                                     {"batch": 3, "past": 2, "encoder_seq": 3}]


class UNet(nn.Module):
    """Two levels down and up, skips joined; a size that is odd on the way is cropped to that of the skip."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.middle = self.block(3, 8), self.block(8, 16), self.block(16, 32)
        self.up2, self.up1 = nn.ConvTranspose2d(32, 16, 2, 2), nn.ConvTranspose2d(16, 8, 2, 2)
        self.join2, self.join1, self.head = self.block(32, 16), self.block(16, 8), nn.Conv2d(8, 2, 1)

    @staticmethod
    def block(n, m):
        return nn.Sequential(nn.Conv2d(n, m, 3, padding=1), nn.BatchNorm2d(m), nn.ReLU(),
                             nn.Conv2d(m, m, 3, padding=1), nn.GroupNorm(2, m), nn.SiLU())

    def forward(self, x):
        a = self.down1(x)
        b = self.down2(nn.functional.max_pool2d(a, 2))
        c = self.middle(nn.functional.max_pool2d(b, 2))
        c = nn.functional.interpolate(self.up2(c), size=b.shape[-2:], mode="bilinear", align_corners=False)
        c = self.join2(torch.cat([b, c], 1))
        c = nn.functional.interpolate(self.up1(c), size=a.shape[-2:], mode="nearest")
        return self.head(self.join1(torch.cat([a, c], 1)))


def unet():
    return (UNet(), [("image", "real", ("batch", 3, "height", "width"))], ["mask"],
            [{"batch": 2, "height": 32, "width": 48}, {"batch": 1, "height": 37, "width": 21}, {"batch": 3, "height": 8, "width": 16}])


class Detector(nn.Module):
    """A one-stage detector of two strides: grids made of the sizes, boxes, scores, suppression per class."""

    def __init__(self, classes=3):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.SiLU(), nn.Conv2d(8, 16, 3, 2, 1), nn.SiLU(), nn.Conv2d(16, 16, 3, 2, 1), nn.SiLU())
        self.deep = nn.Sequential(nn.Conv2d(16, 32, 3, 2, 1), nn.SiLU())
        self.heads = nn.ModuleList([nn.Conv2d(16, 4 + classes, 1), nn.Conv2d(32, 4 + classes, 1)])
        self.up = nn.Conv2d(32, 16, 1)

    def forward(self, x):
        p3 = self.stem(x)
        p4 = self.deep(p3)
        p3 = p3 + nn.functional.interpolate(self.up(p4), scale_factor=2.0, mode="nearest")
        boxes, scores = [], []
        for stride, head, p in ((8, self.heads[0], p3), (16, self.heads[1], p4)):
            y = head(p)
            h, w = y.shape[2], y.shape[3]
            rows, columns = torch.arange(h, dtype=torch.float32), torch.arange(w, dtype=torch.float32)
            at = torch.stack([columns[None, :].expand(h, w), rows[:, None].expand(h, w)], -1).reshape(1, h * w, 2) + 0.5
            y = y.flatten(2).transpose(1, 2)
            middle, size = (at + y[..., 0:2].tanh()) * stride, y[..., 2:4].exp() * stride
            boxes.append(torch.cat([middle - size / 2, middle + size / 2], -1))
            scores.append(y[..., 4:].sigmoid())
        boxes, scores = torch.cat(boxes, 1), torch.cat(scores, 1)
        kept = suppress(boxes, scores.transpose(1, 2))
        image, label, box = kept[:, 0], kept[:, 1], kept[:, 2]
        return boxes, boxes[image, box], scores[image, box, label], label


def suppress(boxes, scores):
    return torch.ops.tenon.nms(boxes, scores)


@torch.library.custom_op("tenon::nms", mutates_args=())
def nms(boxes: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """What is traced: three boxes, so that the exporter sees a result; NonMaxSuppression stands in the file."""
    return torch.zeros(3, 3, dtype=torch.int64)


@nms.register_fake
def _(boxes, scores):
    n = torch.library.get_ctx().new_dynamic_size()
    return boxes.new_empty(n, 3, dtype=torch.int64)


def detector():
    return (Detector(), [("image", "real", ("batch", 3, "height", "width"))], ["all_boxes", "boxes", "scores", "labels"],
            [{"batch": 2, "height": 64, "width": 96}, {"batch": 1, "height": 32, "width": 32}, {"batch": 3, "height": 48, "width": 160}])


MODELS = [gpt2, llama, qwen2, qwen3, bert, deberta, t5_encoder, t5_decoder, t5_decoder_with_past, vit, whisper_encoder, whisper_decoder,
          whisper_decoder_with_past, unet, detector]


def example(kind, dims):
    make = {"id": lambda: torch.randint(0, VOCABULARY, dims), "bit": lambda: torch.randint(0, 2, dims), "real": lambda: torch.randn(dims)}
    if kind in ("mask", "left"):  # every row but the first has some padding, at its end or its beginning
        mask = torch.ones(dims, dtype=torch.int64)
        mask[1:, 0 if kind == "left" else -1] = 0
        return mask
    return make[kind]()


def feed(inputs, sizes):
    return [example(kind, [eval(d, {}, sizes) if isinstance(d, str) else d for d in dims]) for _, kind, dims in inputs]


def export(name, exporter, path, opset):
    """Writes the model; gives what it is to be run with: a list of {name: array}."""
    torch.manual_seed(0)
    module, inputs, outputs, sizes = next(m for m in MODELS if m.__name__ == name)()
    for parameter in module.parameters():  # initial weights are so small that nothing would be seen of them
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=(parameter.numel() / parameter.shape[0]) ** -0.5)
    module.eval()
    arguments = feed(inputs, sizes[0])
    names = [n for n, _, _ in inputs]
    dynamic = [{i: d for i, d in enumerate(dims) if isinstance(d, str)} for _, _, dims in inputs]
    common = {"input_names": names, "output_names": outputs, "opset_version": opset}
    if exporter == "dynamo":
        from onnxscript import opset18 as op
        spread = any(p.kind.name == "VAR_POSITIONAL" for p in __import__("inspect").signature(module.forward).parameters.values())
        fixed = 0 if isinstance(module, Named) else 2
        shapes = (*dynamic[:fixed], tuple(dynamic[fixed:])) if spread else tuple(dynamic)

        def nms_symbolic(boxes, scores):
            return op.NonMaxSuppression(boxes, scores, 20, 0.5, 0.3)

        torch.onnx.export(module, tuple(arguments), path, dynamo=True, verbose=False, dynamic_shapes=shapes, external_data=False,
                          custom_translation_table={torch.ops.tenon.nms.default: nms_symbolic}, **common)
    else:
        from torch.onnx import register_custom_op_symbolic

        def nms_symbolic(g, boxes, scores):
            constant = lambda value, kind: g.op("Constant", value_t=torch.tensor([value], dtype=kind))
            return g.op("NonMaxSuppression", boxes, scores, constant(20, torch.int64), constant(0.5, torch.float32), constant(0.3, torch.float32))

        register_custom_op_symbolic("tenon::nms", nms_symbolic, opset)
        torch.onnx.export(module, tuple(arguments), path, dynamo=False, dynamic_axes={n: d for n, d in zip(names, dynamic) if d}, **common)
    return [{n: a.numpy() for n, a in zip(names, feed(inputs, s))} for s in sizes]
