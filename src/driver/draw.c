/* Random inputs. */
#include "driver/draw.h"

#include "base/rng.h"
#include "ir/tensor.h"

enum { DRAW_MAX_DEPTH = 4 }; /* of sequences in sequences */

static uint64_t draw_next(tn_draw *d) { return tn_rng_u64(d->stream, d->n++); }

static void draw_fill(tn_draw *d, tn_lit *l) {
  static const char letters[] = "abcdefghijklmnop";
  const tn_dtype_class cls = tn_dtype_cls(l->dtype);
  for (int64_t i = 0; i < l->count; i++) {
    const uint64_t bits = draw_next(d);
    const int64_t integer = d->fill == 0 ? (int64_t)(bits % 10) : d->fill == 1 ? (int64_t)(bits % 2) : d->fill - 2;
    const double unit = (double)(int64_t)(bits >> 40) * 0x1p-23 - 1;
    if (cls == TN_CLASS_STRING)
      ((tn_str *)tn_lit_data(l))[i] = (tn_str){&letters[bits % 16], 1};
    else if (cls == TN_CLASS_FLOAT)
      tn_store_f64(l->dtype, tn_lit_data(l), i, d->fill < 2 ? unit : d->fill - 2);
    else if (cls == TN_CLASS_COMPLEX)
      tn_store_f64(l->dtype == TN_C64 ? TN_F32 : TN_F64, tn_lit_data(l), 2 * i, unit);
    else
      tn_store_i64(l->dtype, tn_lit_data(l), i, cls == TN_CLASS_BOOL ? integer % 2 : integer);
  }
}

static void draw_fill_content(tn_draw *d, const tn_type *t, tn_lit *l) {
  const int64_t n = tn_type_content_count(t);
  for (int64_t i = 0; i < n && i < l->count; i++) {
    int64_t v;
    if (t->content[i].kind == TN_ELEM_SYM &&
        tn_sym_eval(d->at->syms, t->content[i].sym, tn_binding_env, d->at, &v) == TN_OK)
      tn_store_i64(l->dtype, tn_lit_data(l), i, v);
  }
}

static tn_status draw_tensor(tn_draw *d, const tn_value *v, const tn_type *t, const tn_lit **out) {
  const tn_loc loc = {.kind = "input", .name = v->name};
  tn_ctx *ctx = d->at->ctx;
  int64_t dims[TN_MAX_RANK], count;
  size_t bytes;
  const int rank = t->rank >= 0 ? t->rank : 1 + (int)(draw_next(d) % 4);
  for (int j = 0; j < rank; j++) {
    if (t->rank < 0 || !t->dims[j])
      dims[j] = 1 + (int64_t)(draw_next(d) % 3);
    else if (tn_sym_eval(d->at->syms, t->dims[j], tn_binding_env, d->at, &dims[j]) != TN_OK)
      return tn_fail(ctx, TN_INTERNAL, loc, "dim %d has no value", j);
  }
  const tn_dtype dtype = t->dtype ? t->dtype : TN_F32;
  if (!tn_dims_count(dims, rank, &count) || !tn_dtype_bytes(dtype, count, &bytes))
    return tn_fail(ctx, TN_LIMIT, loc, "it has too many elements");
  tn_lit *const l = tn_lit_new(d->arena, dtype, rank, dims);
  if (l->bytes) memset(tn_lit_data(l), 0, l->bytes);
  draw_fill(d, l);
  if (t->rank >= 0) draw_fill_content(d, t, l);
  *out = l;
  return TN_OK;
}

static tn_status draw_value(tn_draw *d, const tn_value *v, const tn_type *t, int depth, const tn_lit **out) {
  if (t->kind == TN_TYPE_TENSOR || t->kind == TN_TYPE_UNKNOWN) return draw_tensor(d, v, t, out);
  if (t->kind == TN_TYPE_MAP || !t->elem || depth > DRAW_MAX_DEPTH)
    return tn_fail(d->at->ctx, TN_UNSUPPORTED, (tn_loc){.kind = "input", .name = v->name}, "it cannot be filled");
  tn_lit *const l = TN_NEW(d->arena, tn_lit);
  l->kind = t->kind;
  l->file_offset = -1;
  l->n_items = t->kind == TN_TYPE_OPTIONAL ? 1 : 1 + (int64_t)(draw_next(d) % 3);
  const tn_lit **const items = TN_NEW_ARRAY(d->arena, const tn_lit *, l->n_items);
  for (int64_t i = 0; i < l->n_items; i++) TN_TRY(draw_value(d, v, t->elem, depth + 1, &items[i]));
  l->items = items;
  *out = l;
  return TN_OK;
}

tn_status tn_draw_input(tn_draw *d, const tn_value *v, const tn_lit **out) {
  return draw_value(d, v, &v->type, 0, out);
}
