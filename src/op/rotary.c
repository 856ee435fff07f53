/* RotaryEmbedding: pairs of elements of each head rotated by angles of the token's position. */
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/rules.h"
#include "op/move.h"

#define ROTARY_TYPES (TN_SET(F32) | TN_SET(F16) | TN_SET(BF16))

/* Batch, rows and head size of x; the head size NULL where only the cache tells it. */
static tn_status rotary_dims(tn_rule *r, tn_sym *batch, tn_sym *rows, tn_sym *size) {
  const tn_type *const x = r->in[0];
  tn_symtab *const t = r->syms;
  const int64_t heads = tn_rule_int(r, "num_heads");
  *batch = x->dims[0];
  *rows = x->dims[x->rank - 2];
  if (x->rank == 3) *rows = x->dims[1];
  *size = x->dims[x->rank - 1];
  if (x->rank == 4) return TN_OK;
  if (heads < 1 && tn_rule_int(r, "heads_by_cache")) {
    *size = NULL;
    return TN_OK;
  }
  if (heads < 1)
    return tn_rule_fail(r, TN_INVALID, "attribute 'num_heads' is %lld; operands of rank 3 need it", (long long)heads);
  const tn_sym n = tn_sym_int(t, heads);
  TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, *size, n), tn_sym_int(t, 0)),
                        "dim 2, %s, does not divide into %lld heads", tn_sym_text(t, *size), (long long)heads));
  *size = tn_sym_divexact(t, *size, n);
  return TN_OK;
}

static tn_status rotary_cache(tn_rule *r, int i, tn_sym batch, tn_sym rows, tn_sym half) {
  const bool has_places = tn_rule_has(r, 3);
  TN_TRY(tn_rule_need_rank(r, i, has_places ? 2 : 3, has_places ? 2 : 3));
  if (!tn_rule_has_rank(r, i)) return TN_OK;
  const tn_type *const c = r->in[i];
  if (half)
    TN_TRY(tn_rule_unify(r, c->dims[c->rank - 1], half, "the cache and half of the rotated size", c->rank - 1, NULL));
  if (has_places) return TN_OK;
  TN_TRY(tn_rule_unify(r, c->dims[0], batch, "batch of the cache", 0, NULL));
  return tn_rule_unify(r, c->dims[1], rows, "rows of the cache", 1, NULL);
}

static tn_status rotary_places(tn_rule *r, tn_sym batch, tn_sym rows) {
  if (!tn_rule_has_rank(r, 3)) return TN_OK;
  const tn_type *const p = r->in[3];
  if (p->rank == 1 && tn_rule_int(r, "heads_by_cache"))
    return tn_rule_unify(r, p->dims[0], tn_sym_int(r->syms, 1), "position_ids of rank 1", 0, NULL);
  TN_TRY(tn_rule_need_rank(r, 3, 2, 2));
  TN_TRY(tn_rule_unify(r, p->dims[0], batch, "batch of position_ids", 0, NULL));
  return tn_rule_unify(r, p->dims[1], rows, "rows of position_ids", 1, NULL);
}

static tn_status rotary_shape(tn_rule *r) {
  TN_TRY(tn_rule_need_rank(r, 0, 3, 4));
  const int64_t rotated = tn_rule_int(r, "rotary_embedding_dim");
  if (rotated < 0 || rotated % 2 != 0)
    return tn_rule_fail(r, TN_INVALID, "attribute 'rotary_embedding_dim' is %lld, expected an even number",
                        (long long)rotated);
  if (!tn_rule_has_rank(r, 0)) return TN_OK;
  tn_symtab *const t = r->syms;
  tn_sym batch, rows, size;
  TN_TRY(rotary_dims(r, &batch, &rows, &size));
  tn_sym half = NULL;
  if (rotated > 0) {
    half = tn_sym_int(t, rotated / 2);
    if (size)
      TN_TRY(tn_rule_demand(r, tn_sym_le(t, tn_sym_int(t, rotated), size), "%lld elements to rotate of %s",
                            (long long)rotated, tn_sym_text(t, size)));
  } else if (size) {
    TN_TRY(tn_rule_demand(r, tn_sym_eq(t, tn_sym_mod(t, size, tn_sym_int(t, 2)), tn_sym_int(t, 0)),
                          "a head size of %s is odd", tn_sym_text(t, size)));
    half = tn_sym_divexact(t, size, tn_sym_int(t, 2));
  }
  for (int i = 1; i < 3; i++) TN_TRY(rotary_cache(r, i, batch, rows, half));
  TN_TRY(rotary_places(r, batch, rows));
  return tn_shape_as_input(r);
}

typedef struct rotary_plan {
  int64_t batch, heads, rows, size, half, cache_rows;
  bool is_flat; /* [batch, rows, heads * size] */
} rotary_plan;

static tn_status rotary_read(const tn_eval *e, rotary_plan *p) {
  const tn_lit *const x = e->in[0], *const cos_cache = e->in[1], *const sin_cache = e->in[2];
  const tn_lit *const places = tn_op_eval_in(e, 3);
  if ((x->rank != 3 && x->rank != 4) || cos_cache->rank != (places ? 2 : 3) || cos_cache->count != sin_cache->count)
    return tn_eval_fail(e, TN_MISMATCH, "the operands of a rotation do not fit each other");
  const int64_t rotated = tn_eval_int(e, "rotary_embedding_dim");
  p->is_flat = x->rank == 3;
  p->batch = x->dims[0];
  p->half = cos_cache->dims[cos_cache->rank - 1];
  p->cache_rows = p->half ? cos_cache->count / p->half : 0;
  p->heads = p->is_flat ? tn_eval_int(e, "num_heads") : x->dims[1];
  if (p->is_flat && p->heads < 1 && p->half > 0) p->heads = x->dims[2] / (2 * p->half);
  p->rows = x->dims[p->is_flat ? 1 : 2];
  p->size = p->heads ? x->dims[x->rank - 1] / (p->is_flat ? p->heads : 1) : 0;
  const int64_t n = rotated > 0 ? rotated : p->size;
  if ((p->is_flat && p->heads * p->size != x->dims[2]) || n != 2 * p->half || n > p->size ||
      (!places && p->cache_rows != p->batch * p->rows) ||
      (places && places->count != 1 && places->count != p->batch * p->rows))
    return tn_eval_fail(e, TN_MISMATCH, "the operands of a rotation do not fit each other");
  return TN_OK;
}

static tn_status rotary_eval(tn_eval *e) {
  rotary_plan p = {0};
  const tn_lit *const x = e->in[0], *const places = tn_op_eval_in(e, 3);
  const bool interleaved = tn_eval_int(e, "interleaved") != 0;
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, x->dtype, x->rank, x->dims, &y));
  if (x->count == 0) return TN_OK;
  TN_TRY(rotary_read(e, &p));
  for (int64_t i = 0; i < x->count; i++) {
    const int64_t c = i % p.size, v = i / p.size;
    const int64_t b = v / (p.rows * p.heads), s = p.is_flat ? v / p.heads % p.rows : v % p.rows;
    int64_t at = b * p.rows + s;
    if (places)
      at = places->count == p.batch * p.rows && places->rank == 2 ? tn_lit_i64_at(places, at)
                                                                  : tn_lit_i64_at(places, 0) + s;
    if (at < 0 || at >= p.cache_rows)
      return tn_eval_fail(e, TN_MISMATCH, "position %lld of %lld", (long long)at, (long long)p.cache_rows);
    double out = tn_lit_f64(x, i);
    if (c < 2 * p.half) {
      const int64_t pair = interleaved ? c / 2 : c % p.half;
      const bool second = interleaved ? c % 2 : c >= p.half;
      const int64_t other = i + (second ? -1 : 1) * (interleaved ? 1 : p.half);
      const double co = tn_lit_f64(e->in[1], at * p.half + pair), si = tn_lit_f64(e->in[2], at * p.half + pair);
      out = co * out + (second ? si : -si) * tn_lit_f64(x, other);
    }
    tn_store_f64(y->dtype, tn_lit_data(y), i, out);
  }
  return TN_OK;
}

TN_OP(rotary_embedding){
    .name = "rotary_embedding",
    .in = {{"x", ROTARY_TYPES, "T"},
           {"cos_cache", ROTARY_TYPES, "T"},
           {"sin_cache", ROTARY_TYPES, "T"},
           {"position_ids", TN_SET(I64), NULL, TN_PORT_OPTIONAL}},
    .out = {{"y", ROTARY_TYPES, "T"}},
    .attrs = {{"heads_by_cache", TN_ATTR_INT, .has_default = true},
              {"interleaved", TN_ATTR_INT, .has_default = true},
              {"num_heads", TN_ATTR_INT, .has_default = true},
              {"rotary_embedding_dim", TN_ATTR_INT, .has_default = true}},
    .type = tn_type_as_input,
    .shape = rotary_shape,
    .eval = rotary_eval,
    .kernel = "rotary_embedding",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-6},
    .doc =
        "the first elements of each head rotated in pairs; heads_by_cache: a head has twice the cache's size, and one "
        "position is that of the first row",
};

/* com.microsoft: operands in another order, positions of one element count from there. As in ONNX Runtime, the scale is
 * that of the cache already, and a packed batch is one whose rows may be more than the cache has. */
static tn_status rotary_import_ms(tn_import *im) {
  tn_import_ignore(im, "scale");
  tn_import_ignore(im, "is_packed_batching");
  if (im->n_in < 4) return tn_import_fail(im, TN_INVALID, "4 inputs are needed");
  tn_value *const in[4] = {im->in[0], im->in[2], im->in[3], im->in[1]};
  tn_node *const node = tn_import_node(im, "rotary_embedding", in, 4, im->n_out);
  tn_import_set_int(node, "heads_by_cache", 1);
  TN_TRY(tn_import_copy_attrs(im, node));
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

TN_ONNX(ai, RotaryEmbedding, 23, TN_LATEST, rotary_embedding, tn_import_same)
TN_ONNX(ms, RotaryEmbedding, 1, TN_LATEST, rotary_embedding, rotary_import_ms)
