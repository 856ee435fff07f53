/* Attention and MultiHeadAttention of com.microsoft: projections and packed forms around the one attention. */
#include <float.h>

#include "op/ms.h"

typedef struct msa_parts { /* operands of the attention and what its caller asks for */
  tn_value *q, *k, *v, *bias, *past_k, *past_v, *key_mask;
  int64_t heads;
  bool causal, wants_present, wants_scores;
} msa_parts;

static tn_status msa_attend(tn_import *im, const msa_parts *p, tn_node **out) {
  double scale, filter;
  TN_TRY(tn_import_float(im, "scale", 0, &scale));
  TN_TRY(tn_import_float(im, "mask_filter_value", -10000, &filter));
  tn_value *const in[8] = {p->q, p->k, p->v, p->bias, p->past_k, p->past_v, NULL, p->key_mask};
  tn_node *const node = tn_import_node(im, "attention", in, 8, p->wants_scores ? 4 : p->wants_present ? 3 : 1);
  tn_import_set_int(node, "q_num_heads", p->heads);
  tn_import_set_int(node, "kv_num_heads", p->heads);
  tn_import_set_int(node, "is_causal", p->causal);
  tn_import_set_float(node, "mask_filter_value", filter);
  if (scale < 0 || scale > 0) tn_import_set_float(node, "scale", scale);
  if (p->wants_scores) tn_import_set_int(node, "qk_matmul_output_mode", 2); /* masked and biased */
  *out = node;
  return TN_OK;
}

static tn_status msa_heads(tn_import *im, int64_t *out) {
  TN_TRY(tn_import_int(im, "num_heads", 0, out));
  return *out < 1 ? tn_import_fail(im, TN_INVALID, "attribute 'num_heads' is %lld", (long long)*out) : TN_OK;
}

/* Item i of the first axis. */
static tn_value *msa_item(tn_import *im, tn_value *x, int64_t i) {
  return tn_im2(im, "gather", x, tn_import_const_lit(im, tn_lit_scalar_i64(&im->ctx->arena, TN_I64, i)));
}

static tn_status msa_attention(tn_import *im) {
  msa_parts p = {.bias = tn_im_in(im, 5), .key_mask = tn_im_in(im, 3), .wants_present = tn_im_out(im, 1)};
  int64_t causal, rotary, shared, n_sizes;
  const int64_t *sizes;
  TN_TRY(tn_im_need(im, 2));
  TN_TRY(tn_im_refuse_in(im, 6, "the length of the past in a shared buffer"));
  TN_TRY(msa_heads(im, &p.heads));
  TN_TRY(tn_import_int(im, "unidirectional", 0, &causal));
  TN_TRY(tn_import_int(im, "do_rotary", 0, &rotary));
  TN_TRY(tn_import_int(im, "past_present_share_buffer", 0, &shared));
  TN_TRY(tn_import_ints(im, "qkv_hidden_sizes", &sizes, &n_sizes));
  tn_import_ignore(im, "rotary_embedding_dim");
  if (rotary || shared)
    return tn_import_fail(im, TN_UNSUPPORTED, "do_rotary and past_present_share_buffer are not supported");
  if (sizes && n_sizes != 3) return tn_import_fail(im, TN_INVALID, "qkv_hidden_sizes of %lld", (long long)n_sizes);
  tn_value *const qkv = tn_im_add(im, tn_im2(im, "matmul", im->in[0], im->in[1]), tn_im_in(im, 2));
  tn_value *const in[2] = {qkv, sizes ? tn_import_const_i64(im, sizes, 3) : NULL};
  tn_node *const split = tn_import_node(im, "split", in, sizes ? 2 : 1, 3);
  tn_import_set_int(split, "axis", -1);
  if (!sizes) tn_import_set_int(split, "num_outputs", 3);
  p.q = split->out[0];
  p.k = split->out[1];
  p.v = split->out[2];
  p.causal = causal != 0;
  if (tn_im_in(im, 4)) {
    p.past_k = msa_item(im, im->in[4], 0);
    p.past_v = msa_item(im, im->in[4], 1);
  }
  tn_node *node;
  TN_TRY(msa_attend(im, &p, &node));
  if (p.wants_present) {
    tn_value *const pair[2] = {tn_im2(im, "unsqueeze", node->out[1], tn_im_int(im, 0)),
                               tn_im2(im, "unsqueeze", node->out[2], tn_im_int(im, 0))};
    tn_node *const present = tn_import_node(im, "concat", pair, 2, 1);
    tn_import_set_int(present, "axis", 0);
    im->out[1] = present->out[0];
  }
  return tn_im_done(im, node->out[0]);
}

/* [batch, rows, heads, n, size] as n tensors [batch, rows, heads * size]. */
static void msa_unpack(tn_import *im, tn_value *packed, int n, tn_value **out) {
  tn_node *const split = tn_import_node(im, "split", &packed, 1, n);
  tn_import_set_int(split, "axis", 3);
  tn_import_set_int(split, "num_outputs", n);
  tn_value *const shape = tn_import_const_i64(im, (const int64_t[]){0, 0, -1}, 3);
  for (int i = 0; i < n; i++) out[i] = tn_im2(im, "reshape", split->out[i], shape);
}

/* The bias of q, k and v one after the other; q and k have the same size. */
static void msa_bias(tn_import *im, tn_value *bias, msa_parts *p) {
  tn_node *const size = tn_import_node(im, "shape", &p->q, 1, 1);
  tn_import_set_int(size, "start", -1);
  tn_value *const n = size->out[0], *const zero = tn_im_int(im, 0);
  tn_value *const ends[4] = {zero, n, tn_im2(im, "add", n, n), tn_im_int(im, INT64_MAX)};
  tn_value **const targets[3] = {&p->q, &p->k, &p->v};
  for (int i = 0; i < 3; i++) {
    tn_value *const in[4] = {bias, ends[i], ends[i + 1], zero};
    *targets[i] = tn_im2(im, "add", *targets[i], tn_import_node(im, "slice", in, 4, 1)->out[0]);
  }
}

static tn_status msa_multi_head(tn_import *im) {
  msa_parts p = {.q = tn_im_in(im, 0), .k = tn_im_in(im, 1), .v = tn_im_in(im, 2), .bias = tn_im_in(im, 5)};
  int64_t causal;
  TN_TRY(tn_im_need(im, 1));
  TN_TRY(tn_im_refuse_in(im, 8, "the length of the past in a shared buffer"));
  TN_TRY(tn_im_refuse_in(im, 9, "a cache of beams"));
  TN_TRY(msa_heads(im, &p.heads));
  TN_TRY(tn_import_int(im, "unidirectional", 0, &causal));
  tn_value *parts[3];
  if (!p.k) {
    msa_unpack(im, p.q, 3, parts);
    p.q = parts[0];
    p.k = parts[1];
    p.v = parts[2];
  } else if (!p.v) {
    msa_unpack(im, p.k, 2, parts);
    p.k = parts[0];
    p.v = parts[1];
  }
  if (tn_im_in(im, 3)) msa_bias(im, im->in[3], &p);
  p.key_mask = tn_im_in(im, 4);
  p.past_k = tn_im_in(im, 6);
  p.past_v = tn_im_in(im, 7);
  p.causal = causal != 0;
  p.wants_present = tn_im_out(im, 1) || tn_im_out(im, 2);
  p.wants_scores = tn_im_out(im, 3);
  tn_node *node;
  TN_TRY(msa_attend(im, &p, &node));
  for (int i = 1; i < 3; i++)
    if (tn_im_out(im, i)) im->out[i] = node->out[i];
  /* Keys that come later have the least float there, not -inf. */
  if (p.wants_scores) im->out[3] = tn_im2(im, "max", node->out[3], tn_im_float(im, -(double)FLT_MAX));
  return tn_im_done(im, node->out[0]);
}

TN_ONNX(ms, Attention, 1, TN_LATEST, attention, msa_attention)
TN_ONNX(ms, MultiHeadAttention, 1, TN_LATEST, attention, msa_multi_head)
