/* What the operators that move elements share. */
#include "op/move.h"

/* The numbers 1 .. n of the elements, as a literal of input i's shape. 0 is the number of "zero". */
static tn_lit *move_numbers(tn_rule *r, int i, const int64_t *dims, int64_t first) {
  tn_lit *const l = tn_lit_new(&r->ctx->arena, TN_I64, r->in[i]->rank, dims);
  for (int64_t k = 0; k < l->count; k++) tn_store_i64(TN_I64, tn_lit_data(l), k, first + k);
  return l;
}
static tn_lit *move_constant(tn_rule *r, int i, const int64_t *dims, const int64_t *v) {
  tn_lit *const l = tn_lit_new(&r->ctx->arena, r->in[i]->dtype ? r->in[i]->dtype : TN_I64, r->in[i]->rank, dims);
  if (l->bytes) memset(tn_lit_data(l), 0, l->bytes);
  for (int64_t k = 0; k < l->count; k++) tn_store_i64(l->dtype, tn_lit_data(l), k, v[k]);
  return l;
}

static tn_elem move_elem(tn_rule *r, int64_t number, const int64_t *first, uint32_t data) {
  if (number == 0) return tn_elem_sym(tn_sym_int(r->syms, 0));
  for (int i = r->n_in - 1; i >= 0; i--)
    if ((data >> i) & 1 && r->in[i] && number >= first[i]) return r->in[i]->content[number - first[i]];
  return (tn_elem){0};
}

static void move_store(tn_rule *r, int i, const tn_lit *l, const int64_t *first, uint32_t data) {
  if (!l || l->count > TN_MAX_CONTENT) return;
  tn_elem *const out = tn_rule_elems(r, l->count);
  for (int64_t k = 0; k < l->count; k++) out[k] = move_elem(r, tn_lit_i64_at(l, k), first, data);
  tn_rule_set_content(r, i, out);
}

tn_status tn_op_value_move(tn_rule *r, uint32_t data) {
  int64_t next = 1, first[32] = {0};
  const size_t n_in = (size_t)r->n_in, n_out = (size_t)r->n_out;
  const tn_lit **const in = TN_NEW_ARRAY(&r->ctx->arena, const tn_lit *, n_in + 1);
  tn_lit **const out = TN_NEW_ARRAY(&r->ctx->arena, tn_lit *, n_out + 1);
  if (r->n_in > 32) return TN_OK;
  for (int i = 0; i < r->n_in; i++) {
    int64_t dims[TN_MAX_RANK], n, *v;
    if (!r->in[i]) continue;
    if (!r->in[i]->content || !tn_type_const_dims(r->in[i], dims)) return TN_OK;
    first[i] = next;
    if ((data >> i) & 1) {
      in[i] = move_numbers(r, i, dims, next);
      next += in[i]->count;
    } else {
      if (!tn_rule_const_ints(r, i, &n, &v)) return TN_OK;
      in[i] = move_constant(r, i, dims, v);
    }
  }
  for (int i = 0; i < r->n_out; i++) {
    int64_t dims[TN_MAX_RANK], n;
    if (!tn_type_const_dims(&r->out[i], dims) || !tn_dims_count(dims, r->out[i].rank, &n) || n > TN_MAX_CONTENT)
      return TN_OK;
  }
  tn_eval e = {.ctx = r->ctx,
               .arena = &r->ctx->arena,
               .node = r->node,
               .loc = r->loc,
               .n_in = r->n_in,
               .n_out = r->n_out,
               .in = in,
               .out = out,
               .out_present = r->out_present,
               .graph = r->graph};
  TN_TRY(r->node->op->eval(&e));
  for (int i = 0; i < r->n_out; i++) move_store(r, i, out[i], first, data);
  return TN_OK;
}
tn_status tn_op_value_move_first(tn_rule *r) { return tn_op_value_move(r, 1); }

tn_status tn_op_axis_set(tn_rule *r, int64_t n, const int64_t *axes, int rank, int *set) {
  for (int i = 0; i < rank; i++) set[i] = -1;
  for (int64_t i = 0; i < n; i++) {
    int axis;
    TN_TRY(tn_rule_axis(r, "axis", axes[i], rank, &axis));
    if (set[axis] >= 0) return tn_rule_fail(r, TN_INVALID, "axis %d is given twice", axis);
    set[axis] = (int)i;
  }
  return TN_OK;
}
tn_status tn_op_eval_axis_set(tn_eval *e, int64_t n, const int64_t *axes, int rank, int *set) {
  for (int i = 0; i < rank; i++) set[i] = -1;
  for (int64_t i = 0; i < n; i++) {
    int axis;
    TN_TRY(tn_eval_axis(e, axes[i], rank, &axis));
    if (set[axis] >= 0) return tn_eval_fail(e, TN_INVALID, "axis %d is given twice", axis);
    set[axis] = (int)i;
  }
  return TN_OK;
}

tn_sym tn_op_elem(tn_rule *r, int i, int64_t k) {
  int64_t n;
  tn_sym *v;
  return tn_rule_ints(r, i, &n, &v) && k < n ? v[k] : NULL;
}
int64_t tn_op_length(const tn_rule *r, int i) {
  int64_t dims[TN_MAX_RANK];
  if (!tn_rule_has_rank(r, i) || r->in[i]->rank > 1 || !tn_type_const_dims(r->in[i], dims)) return -1;
  return r->in[i]->rank == 0 ? 1 : dims[0];
}
tn_status tn_op_need_length(tn_rule *r, int i, int64_t n) {
  TN_TRY(tn_rule_need_rank(r, i, n == 1 ? 0 : 1, 1));
  if (!tn_rule_has_rank(r, i) || r->in[i]->rank == 0) return TN_OK;
  const tn_sym have = r->in[i]->dims[0];
  return tn_rule_demand(r, tn_sym_eq(r->syms, have, tn_sym_int(r->syms, n)),
                        "input %d (%s) has %s elements, expected %lld", i, tn_op_in_port(r->node->op, i)->name,
                        tn_sym_text(r->syms, have), (long long)n);
}
tn_status tn_op_need_one(tn_rule *r, int i) { return tn_op_need_length(r, i, 1); }
tn_status tn_op_eval_need_one(tn_eval *e, int i) {
  const tn_lit *const a = tn_op_eval_in(e, i);
  if (!a || a->count == 1) return TN_OK;
  return tn_eval_fail(e, TN_MISMATCH, "input %d has %lld elements, expected 1", i, (long long)a->count);
}
tn_status tn_op_at_least(tn_rule *r, tn_sym e, int64_t lo, const char *what) {
  return tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, lo), e), "%s is %s, expected at least %lld", what,
                        tn_sym_text(r->syms, e), (long long)lo);
}
tn_status tn_op_indices(tn_rule *r, int i, tn_sym dim, int axis) {
  int64_t n, lo = 0, hi = -1;
  tn_sym *v;
  if (!tn_rule_ints(r, i, &n, &v)) return TN_OK;
  for (int64_t k = 0; k < n; k++) {
    if (!v[k] || !tn_sym_is_int(v[k])) continue;
    lo = v[k]->k < lo ? v[k]->k : lo;
    hi = v[k]->k > hi ? v[k]->k : hi;
  }
  if (hi >= 0)
    TN_TRY(tn_rule_demand(r, tn_sym_lt(r->syms, tn_sym_int(r->syms, hi), dim),
                          "index %lld is out of range for dim %d: %s", (long long)hi, axis, tn_sym_text(r->syms, dim)));
  if (lo < 0)
    TN_TRY(tn_rule_demand(r, tn_sym_le(r->syms, tn_sym_int(r->syms, 0), tn_sym_addi(r->syms, dim, lo)),
                          "index %lld is out of range for dim %d: %s", (long long)lo, axis, tn_sym_text(r->syms, dim)));
  return TN_OK;
}
tn_status tn_op_eval_index(tn_eval *e, const tn_lit *indices, int64_t k, int64_t dim, int64_t *out) {
  const int64_t at = tn_lit_i64_at(indices, k);
  if (at < -dim || at >= dim)
    return tn_eval_fail(e, TN_MISMATCH, "index %lld is out of range for a dim of %lld", (long long)at, (long long)dim);
  *out = at < 0 ? at + dim : at;
  return TN_OK;
}

void tn_op_sort(tn_arena *arena, int64_t *places, int64_t n, bool (*before)(const void *arg, int64_t a, int64_t b),
                const void *arg) {
  int64_t *from = places, *to = TN_NEW_ARRAY(arena, int64_t, n > 0 ? n : 1);
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t lo = 0; lo < n; lo += 2 * width) {
      const int64_t mid = n - lo < width ? n : lo + width, hi = n - mid < width ? n : mid + width;
      int64_t a = lo, b = mid;
      for (int64_t i = lo; i < hi; i++) {
        const bool take_b = a == mid || (b < hi && before(arg, from[b], from[a]));
        to[i] = take_b ? from[b++] : from[a++];
      }
    }
    int64_t *const other = from;
    from = to;
    to = other;
  }
  if (from != places && n > 0) memcpy(places, from, (size_t)n * sizeof *places);
}

tn_status tn_import_axes_attr(tn_import *im) {
  tn_value *in[2] = {im->n_in > 0 ? im->in[0] : NULL, NULL};
  TN_TRY(tn_import_attr_to_input(im, "axes", 1, &in[1]));
  tn_node *const node = tn_import_node(im, im->row->op->name, in, in[1] ? 2 : 1, im->n_out);
  TN_TRY(tn_import_copy_attrs(im, node));
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}
