/* Unique: the distinct elements, or the distinct slices of an axis. */
#include <math.h>

#include "op/move.h"

static tn_status unique_type(tn_rule *r) {
  tn_rule_set_dtype(r, 0, r->in[0]->dtype);
  for (int i = 1; i < r->n_out; i++) tn_rule_set_dtype(r, i, TN_I64);
  return TN_OK;
}
static tn_status unique_shape(tn_rule *r) {
  const tn_attr *const attr = tn_rule_attr(r, "axis");
  int axis = 0;
  if (!tn_rule_has_rank(r, 0) && attr) return TN_OK;
  const tn_type *const x = r->in[0];
  if (attr) TN_TRY(tn_rule_axis(r, "axis", attr->i, x->rank, &axis));
  const tn_sym whole = x->rank < 0 ? tn_rule_fresh(r, r->n_out > 2 ? 2 : 0, r->n_out > 2 ? 0 : 1, 0, NULL)
                                   : (attr ? x->dims[axis] : tn_type_count(r->syms, x));
  const tn_sym count = tn_rule_fresh(r, 0, axis, 0, x->rank < 0 ? NULL : whole);
  tn_sym *const dims = tn_rule_dims(r, attr ? x->rank : 1);
  for (int d = 0; attr && d < x->rank; d++) dims[d] = x->dims[d];
  dims[axis] = count;
  tn_rule_set(r, 0, attr ? x->rank : 1, dims);
  for (int i = 1; i < r->n_out; i++) tn_rule_set(r, i, 1, i == 2 ? &whole : &count);
  return TN_OK;
}

/* Slices as lines of elements: slice s, element k of it is at place(s, k). */
typedef struct unique_lines {
  const tn_lit *x;
  int64_t n, outer, inner; /* slices; elements of a slice are outer x inner */
} unique_lines;
static int64_t unique_place(const unique_lines *u, int64_t slice, int64_t k) {
  return (k / u->inner * u->n + slice) * u->inner + k % u->inner;
}
static int unique_order_element(const tn_lit *x, int64_t a, int64_t b) {
  if (x->dtype == TN_STR) {
    const tn_str s = ((const tn_str *)x->data)[a], t = ((const tn_str *)x->data)[b];
    const size_t n = s.len < t.len ? s.len : t.len;
    const int order = n ? memcmp(s.ptr, t.ptr, n) : 0;
    return order ? order : (s.len > t.len) - (s.len < t.len);
  }
  if (tn_dtype_is_float(x->dtype)) {
    const double u = tn_lit_f64(x, a), v = tn_lit_f64(x, b);
    if (isnan(u) || isnan(v)) return isnan(u) - isnan(v);
    return (u > v) - (u < v);
  }
  const uint64_t flip = x->dtype == TN_U64 ? UINT64_C(1) << 63 : 0;
  const int64_t u = (int64_t)((uint64_t)tn_lit_i64_at(x, a) ^ flip),
                v = (int64_t)((uint64_t)tn_lit_i64_at(x, b) ^ flip);
  return (u > v) - (u < v);
}
static int unique_order(const unique_lines *u, int64_t a, int64_t b) {
  for (int64_t k = 0; k < u->outer * u->inner; k++) {
    const int order = unique_order_element(u->x, unique_place(u, a, k), unique_place(u, b, k));
    if (order) return order;
  }
  return 0;
}
static bool unique_before(const void *arg, int64_t a, int64_t b) { return unique_order(arg, a, b) < 0; }
static bool unique_by_first(const void *arg, int64_t a, int64_t b) { /* groups, by their first slice */
  const int64_t *const first = arg;
  return first[a] < first[b];
}

/* Groups equal slices: group[s] and, by group, first[] and count[]. Returns the number of groups. */
static int64_t unique_group(tn_eval *e, const unique_lines *u, int64_t *group, int64_t *first, int64_t *count) {
  int64_t *const order = TN_NEW_ARRAY(e->arena, int64_t, u->n + 1);
  int64_t groups = 0;
  for (int64_t s = 0; s < u->n; s++) order[s] = s;
  tn_op_sort(e->arena, order, u->n, unique_before, u);
  for (int64_t i = 0; i < u->n; i++) {
    if (i == 0 || unique_order(u, order[i - 1], order[i]) != 0) first[groups++] = order[i];
    group[order[i]] = groups - 1;
    count[groups - 1]++;
  }
  return groups;
}
static tn_status unique_store(tn_eval *e, int i, int64_t n, const int64_t *v) {
  tn_lit *y;
  if (i >= e->n_out || !e->out_present[i]) return TN_OK;
  TN_TRY(tn_eval_out(e, i, TN_I64, 1, &n, &y));
  for (int64_t k = 0; k < n; k++) tn_store_i64(TN_I64, tn_lit_data(y), k, v[k]);
  return TN_OK;
}
static tn_status unique_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_attr *const attr = tn_eval_attr(e, "axis");
  unique_lines u = {.x = x, .n = x->count, .outer = 1, .inner = 1};
  int64_t dims[TN_MAX_RANK + 1] = {0};
  int axis = 0;
  if (attr) {
    TN_TRY(tn_eval_axis(e, attr->i, x->rank, &axis));
    u.n = x->dims[axis];
    for (int d = 0; d < x->rank; d++) {
      dims[d] = x->dims[d];
      if (d != axis) *(d < axis ? &u.outer : &u.inner) *= x->dims[d];
    }
  }
  const size_t room = (size_t)u.n + 1;
  int64_t *const group = TN_NEW_ARRAY(e->arena, int64_t, room), *const first = TN_NEW_ARRAY(e->arena, int64_t, room);
  int64_t *const count = TN_NEW_ARRAY(e->arena, int64_t, room), *const order = TN_NEW_ARRAY(e->arena, int64_t, room);
  int64_t *const rank = TN_NEW_ARRAY(e->arena, int64_t, room), *const list = TN_NEW_ARRAY(e->arena, int64_t, room);
  const int64_t groups = unique_group(e, &u, group, first, count);
  for (int64_t g = 0; g < groups; g++) order[g] = g;
  if (!tn_eval_int(e, "sorted")) tn_op_sort(e->arena, order, groups, unique_by_first, first);
  for (int64_t g = 0; g < groups; g++) rank[order[g]] = g;
  tn_lit *y;
  dims[axis] = groups;
  TN_TRY(tn_eval_out(e, 0, x->dtype, attr ? x->rank : 1, dims, &y));
  const unique_lines to = {.x = y, .n = groups, .outer = u.outer, .inner = u.inner};
  for (int64_t g = 0; g < groups; g++)
    for (int64_t k = 0; k < u.outer * u.inner; k++)
      tn_copy_element(x->dtype, tn_lit_data(y), unique_place(&to, g, k), x->data, unique_place(&u, first[order[g]], k));
  for (int64_t g = 0; g < groups; g++) list[g] = first[order[g]];
  TN_TRY(unique_store(e, 1, groups, list));
  for (int64_t s = 0; s < u.n; s++) list[s] = rank[group[s]];
  TN_TRY(unique_store(e, 2, u.n, list));
  for (int64_t g = 0; g < groups; g++) list[g] = count[order[g]];
  return unique_store(e, 3, groups, list);
}
#define UNIQUE_SET (TN_SET_NUMBERS | TN_SET(BOOL) | TN_SET(STR))
TN_OP(unique){
    .name = "unique",
    .in = {{"x", UNIQUE_SET, "T"}},
    .out = {{"y", UNIQUE_SET, "T"},
            {"indices", TN_SET(I64), NULL, TN_PORT_OPTIONAL},
            {"inverse_indices", TN_SET(I64), NULL, TN_PORT_OPTIONAL},
            {"counts", TN_SET(I64), NULL, TN_PORT_OPTIONAL}},
    .attrs = {{"axis", TN_ATTR_INT}, {"sorted", TN_ATTR_INT, .i = 1}},
    .type = unique_type,
    .shape = unique_shape,
    .eval = unique_eval,
    .kernel = "unique",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_BOUND,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the distinct elements (or slices of an axis), where they come first, and how often",
};

/* clang-format off */
TN_ONNX(ai, Unique, 11, TN_LATEST, unique, tn_import_same)
