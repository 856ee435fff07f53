/* GroupQueryAttention over caches of integers, as nodes around the one of floats: the new keys, rotated, and values are
 * rounded to what the cache can hold before they are attended to, so that a later call sees what this one saw. */
#include "op/gqa_quant.h"

typedef struct gqa_quant_heads {
  int64_t q, kv;
  tn_value *scale[2]; /* of k, of v, as the model has them */
} gqa_quant_heads;

tn_status tn_gqa_quant_read(tn_import *im, tn_gqa_quant *q) {
  static const char *const names[2] = {"k_quant_type", "v_quant_type"};
  int64_t bits;
  int n = 0;
  TN_TRY(tn_import_int(im, "kv_cache_bit_width", 0, &bits));
  for (int i = 0; i < 2; i++) {
    tn_str kind;
    TN_TRY(tn_import_str(im, names[i], "NONE", &kind));
    q->per_channel[i] = tn_str_is(kind, "PER_CHANNEL");
    if (!q->per_channel[i] && !tn_str_is(kind, "PER_TENSOR") && !tn_str_is(kind, "NONE"))
      return tn_import_fail(im, TN_INVALID, "%s '%.*s'", names[i], (int)(kind.len > 40 ? 40 : kind.len), kind.ptr);
    n += !tn_str_is(kind, "NONE");
  }
  if (n == 0 && bits == 0) return TN_OK;
  if (n != 2) return tn_import_fail(im, TN_UNSUPPORTED, "one quantised cache beside one of floats");
  if (bits != 8 && bits != 4) return tn_import_fail(im, TN_INVALID, "kv_cache_bit_width %lld", (long long)bits);
  if (!tn_im_in(im, 12) || !tn_im_in(im, 13))
    return tn_import_fail(im, TN_INVALID, "inputs 12 and 13, the scales, are required for quantised caches");
  q->bits = bits;
  return TN_OK;
}

static tn_value *gqa_quant_scalar(tn_import *im, int64_t v) {
  return tn_import_const_lit(im, tn_lit_scalar_i64(&im->ctx->arena, TN_I64, v));
}
static tn_value *gqa_quant_dim(tn_import *im, tn_value *x, int64_t axis) {
  return tn_im2(im, "gather", tn_im1(im, "shape", x), gqa_quant_scalar(im, axis));
}

/* The scales of k (0) or v (1) for rows [batch, rows, heads * size], or for a cache [batch, heads, rows, size]. */
static tn_value *gqa_quant_scale(tn_import *im, const tn_gqa_quant *q, const gqa_quant_heads *h, int which,
                                 bool is_cache) {
  const int64_t by_head[3] = {h->kv, 1, -1};
  tn_value *const shape = q->per_channel[which] && is_cache ? tn_import_const_i64(im, by_head, 3) : tn_im_int(im, -1);
  return tn_im2(im, "reshape", h->scale[which], shape);
}

static tn_value *gqa_quant_codes(tn_import *im, const tn_gqa_quant *q, tn_value *x, tn_value *scale) {
  const double half = q->bits == 8 ? 128 : 8;
  tn_value *const codes = tn_im1(im, "round", tn_im2(im, "div", x, scale));
  return tn_im3(im, "clip", codes, tn_im_float(im, -half), tn_im_float(im, half - 1));
}

static tn_value *gqa_quant_past(tn_import *im, const tn_gqa_quant *q, const gqa_quant_heads *h, int which) {
  tn_value *const past = tn_im_in(im, 3 + which);
  if (!past) return NULL;
  tn_value *codes = q->bits == 8 ? past : tn_im_unpack(im, past, 4);
  codes = tn_im_cast(im, codes, TN_F32);
  if (q->bits == 4) codes = tn_im2(im, "sub", codes, tn_im_float(im, 8));
  return tn_im2(im, "mul", codes, gqa_quant_scale(im, q, h, which, true));
}

static tn_value *gqa_quant_every_second(tn_import *im, tn_value *x, int64_t from) {
  tn_value *const in[5] = {x, tn_im_int(im, from), tn_im_int(im, INT64_MAX), tn_im_int(im, -1), tn_im_int(im, 2)};
  return tn_import_node(im, "slice", in, 5, 1)->out[0];
}
static tn_value *gqa_quant_present(tn_import *im, const tn_gqa_quant *q, const gqa_quant_heads *h, int which,
                                   tn_value *cache) {
  tn_value *const codes = gqa_quant_codes(im, q, cache, gqa_quant_scale(im, q, h, which, true));
  if (q->bits == 8) return tn_im_cast(im, codes, TN_I8);
  tn_value *const shifted = tn_im2(im, "add", codes, tn_im_float(im, 8));
  tn_value *const high = tn_im2(im, "mul", gqa_quant_every_second(im, shifted, 1), tn_im_float(im, 16));
  return tn_im_cast(im, tn_im2(im, "add", gqa_quant_every_second(im, shifted, 0), high), TN_U8);
}

/* q, k and v that lie one after the other in input 0. */
static void gqa_quant_unpack_heads(tn_import *im, const gqa_quant_heads *h, tn_value *packed, tn_value **parts) {
  tn_value *const size = tn_im2(im, "div", gqa_quant_dim(im, packed, 2), gqa_quant_scalar(im, h->q + 2 * h->kv));
  tn_value *const wide[3] = {tn_im2(im, "mul", size, tn_im_int(im, h->q)),
                             tn_im2(im, "mul", size, tn_im_int(im, h->kv)),
                             tn_im2(im, "mul", size, tn_im_int(im, h->kv))};
  tn_node *const sizes = tn_import_node(im, "concat", wide, 3, 1);
  tn_import_set_int(sizes, "axis", 0);
  tn_value *const in[2] = {packed, sizes->out[0]};
  tn_node *const split = tn_import_node(im, "split", in, 2, 3);
  tn_import_set_int(split, "axis", -1);
  for (int i = 0; i < 3; i++) parts[i] = split->out[i];
}

/* Where the new rows stand: behind those that are in the cache; a first call has as many rows as there are tokens. */
static tn_value *gqa_quant_positions(tn_import *im, tn_value *q) {
  if (tn_im_in(im, 9)) return im->in[9];
  tn_value *const rows = gqa_quant_dim(im, q, 1), *const zero = gqa_quant_scalar(im, 0),
                  *const one = gqa_quant_scalar(im, 1);
  tn_value *const last = tn_im_cast(im, tn_im2(im, "reshape", im->in[5], tn_im_int(im, -1)), TN_I64);
  tn_value *const total = tn_im_cast(im, tn_im2(im, "reshape", im->in[6], tn_im_int(im, -1)), TN_I64);
  tn_value *const old = tn_im2(im, "sub", tn_im2(im, "add", last, one), rows);
  tn_value *const begin = tn_im3(im, "where", tn_im2(im, "equal", total, rows), zero, old);
  return tn_im2(im, "add", tn_im2(im, "unsqueeze", begin, tn_im_int(im, 1)), tn_im3(im, "range", zero, rows, one));
}
static tn_value *gqa_quant_rotate(tn_import *im, tn_value *x, tn_value *positions, int64_t heads, int64_t interleaved) {
  tn_value *const in[4] = {x, tn_im_cast(im, im->in[7], TN_F32), tn_im_cast(im, im->in[8], TN_F32), positions};
  tn_node *const node = tn_import_node(im, "rotary_embedding", in, 4, 1);
  tn_import_set_int(node, "num_heads", heads);
  tn_import_set_int(node, "interleaved", interleaved);
  return node->out[0];
}

static tn_status gqa_quant_rows(tn_import *im, const gqa_quant_heads *h, tn_value **rows) {
  int64_t rotary, interleaved;
  TN_TRY(tn_import_int(im, "do_rotary", 0, &rotary));
  TN_TRY(tn_import_int(im, "rotary_interleaved", 0, &interleaved));
  if (!tn_im_in(im, 1) != !tn_im_in(im, 2)) return tn_import_fail(im, TN_INVALID, "one of key and value is absent");
  if (!tn_im_in(im, 1))
    gqa_quant_unpack_heads(im, h, im->in[0], rows);
  else
    for (int i = 0; i < 3; i++) rows[i] = im->in[i];
  for (int i = 0; i < 3; i++) rows[i] = tn_im_cast(im, rows[i], TN_F32);
  if (!rotary) return TN_OK;
  if (!tn_im_in(im, 7) || !tn_im_in(im, 8)) return tn_import_fail(im, TN_INVALID, "do_rotary needs inputs 7 and 8");
  tn_value *const positions = gqa_quant_positions(im, rows[0]);
  rows[0] = gqa_quant_rotate(im, rows[0], positions, h->q, interleaved);
  rows[1] = gqa_quant_rotate(im, rows[1], positions, h->kv, interleaved);
  return TN_OK;
}

tn_status tn_gqa_quant_import(tn_import *im, const tn_gqa_quant *q) {
  gqa_quant_heads h;
  tn_value *in[12] = {NULL};
  TN_TRY(tn_im_need(im, 1));
  if (!tn_im_in(im, 5) || !tn_im_in(im, 6)) return tn_import_fail(im, TN_INVALID, "inputs 5 and 6 are required");
  TN_TRY(tn_import_int(im, "num_heads", 0, &h.q));
  TN_TRY(tn_import_int(im, "kv_num_heads", 0, &h.kv));
  if (h.q < 1 || h.kv < 1 || h.q > INT32_MAX || h.kv > INT32_MAX)
    return tn_import_fail(im, TN_INVALID, "%lld heads of q and %lld of k", (long long)h.q, (long long)h.kv);
  for (int i = 0; i < 2; i++) h.scale[i] = tn_im_cast(im, im->in[12 + i], TN_F32);
  TN_TRY(gqa_quant_rows(im, &h, in));
  for (int i = 0; i < 2; i++) {
    tn_value *const scale = gqa_quant_scale(im, q, &h, i, false);
    in[1 + i] = tn_im2(im, "mul", gqa_quant_codes(im, q, in[1 + i], scale), scale);
    in[3 + i] = gqa_quant_past(im, q, &h, i);
    in[5 + i] = im->in[5 + i];
    if (tn_im_in(im, 10 + i)) in[10 + i] = tn_im_cast(im, im->in[10 + i], TN_F32);
  }
  tn_node *const node = tn_import_node(im, "group_query_attention", in, 12, tn_im_out(im, 3) ? 4 : 3);
  tn_import_set_int(node, "num_heads", h.q);
  tn_import_set_int(node, "kv_num_heads", h.kv);
  TN_TRY(tn_import_copy_attrs(im, node));
  TN_TRY(tn_import_check_used(im));
  for (int i = 0; i < 4; i += 3)
    if (tn_im_out(im, i)) im->out[i] = tn_im2(im, "cast_like", node->out[i], im->in[0]);
  for (int i = 0; i < 2; i++)
    if (tn_im_out(im, 1 + i)) im->out[1 + i] = gqa_quant_present(im, q, &h, i, node->out[1 + i]);
  return TN_OK;
}
