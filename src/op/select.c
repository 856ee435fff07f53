/* Operators whose data decides how much comes out: NonZero, Compress, Unique, NonMaxSuppression. The count is a symbol
 * between 0 and what the shapes allow. */
#include <math.h>

#include "op/move.h"

/* --- non_zero --- */

/* Is content element i not zero? False in *out_known when only the run can tell. */
static bool select_elem_nonzero(const tn_rule *r, const tn_elem *e, bool *out_known) {
  if (e->kind == TN_ELEM_F64) return e->f < 0 || e->f > 0 || isnan(e->f);
  if (e->kind != TN_ELEM_SYM) {
    *out_known = false;
    return false;
  }
  const tn_interval b = tn_sym_bounds(r->syms, e->sym);
  if (b.lo > 0 || b.hi < 0) return true;
  if (!tn_sym_is(e->sym, 0)) *out_known = false;
  return false;
}
static bool select_nonzero(const tn_lit *x, int64_t i) {
  const tn_dtype_class c = tn_dtype_cls(x->dtype);
  if (c == TN_CLASS_STRING) return ((const tn_str *)x->data)[i].len > 0;
  if (c == TN_CLASS_COMPLEX) {
    const tn_dtype part = x->dtype == TN_C64 ? TN_F32 : TN_F64;
    const double re = tn_load_f64(part, x->data, 2 * i), im = tn_load_f64(part, x->data, 2 * i + 1);
    return !(re >= 0 && re <= 0 && im >= 0 && im <= 0);
  }
  if (c != TN_CLASS_FLOAT) return tn_lit_i64_at(x, i) != 0;
  const double v = tn_lit_f64(x, i);
  return !(v >= 0 && v <= 0);
}
/* Operators that give each element of operand 0 some places, or none. */
static bool select_moves(const tn_node *n) {
  static const char *const names[] = {"identity",  "reshape", "flatten", "squeeze", "unsqueeze",
                                      "transpose", "expand",  "tile",    "slice",   "gather"};
  for (size_t i = 0; i < TN_COUNT(names); i++)
    if (strcmp(n->op->name, names[i]) == 0) return true;
  return false;
}

/* Does a cast give 0 for 0 alone? It does not where it rounds or wraps. */
static bool select_casts(const tn_node *n) {
  const tn_dtype from = n->in[0]->type.dtype, to = n->out[0]->type.dtype;
  const bool whole = from == TN_BOOL || tn_dtype_is_int(from);
  return strcmp(n->op->name, "cast") == 0 && whole && (to == TN_BOOL || to == TN_I64 || to == TN_F32 || to == TN_F64);
}

/* Are all elements of a tensor of any size 0, or none? False when that is not known. */
static bool select_uniform(const tn_rule *r, const tn_value *v, bool *out_zero) {
  enum { DEPTH = 16 };
  for (int depth = 0; depth < DEPTH; depth++) {
    const tn_type *const t = &v->type;
    int64_t found = 0;
    bool known = t->content != NULL;
    for (int64_t i = 0; known && i < tn_type_content_count(t); i++)
      found += select_elem_nonzero(r, &t->content[i], &known);
    *out_zero = found == 0;
    if (known) return found == 0 || found == tn_type_content_count(t);
    const tn_node *const n = v->def;
    if (!n) return false;
    if (strcmp(n->op->name, "constant_of_shape") == 0) {
      const tn_lit *const fill = n->attrs[tn_op_attr_index(n->op, "value")].tensor;
      *out_zero = !fill || !select_nonzero(fill, 0);
      return true;
    }
    if (n->n_in == 0 || !n->in[0] || (!select_moves(n) && !select_casts(n))) return false;
    v = n->in[0];
  }
  return false;
}
static tn_status non_zero_shape(tn_rule *r) {
  if (!tn_rule_has_rank(r, 0)) {
    const tn_sym open[2] = {tn_rule_fresh(r, 0, 0, 0, NULL), tn_rule_fresh(r, 0, 1, 0, NULL)};
    tn_rule_set(r, 0, 2, open);
    return TN_OK;
  }
  const tn_type *const x = r->in[0];
  int64_t found = 0;
  bool known = x->content != NULL;
  for (int64_t i = 0; known && i < tn_type_content_count(x); i++)
    found += select_elem_nonzero(r, &x->content[i], &known);
  const tn_sym all = tn_type_count(r->syms, x);
  bool zero;
  const tn_sym count = known                                       ? tn_sym_int(r->syms, found)
                       : !select_uniform(r, r->node->in[0], &zero) ? tn_rule_fresh(r, 0, 1, 0, all)
                       : zero                                      ? tn_sym_int(r->syms, 0)
                                                                   : all;
  const tn_sym dims[2] = {tn_sym_int(r->syms, x->rank), count};
  tn_rule_set(r, 0, 2, dims);
  return TN_OK;
}
static tn_status non_zero_value(tn_rule *r) {
  const tn_type *const x = r->in[0];
  int64_t dims[TN_MAX_RANK], index[TN_MAX_RANK] = {0}, at = 0;
  bool known = true;
  if (!x->content || !tn_type_const_dims(x, dims) || !tn_sym_is_int(r->out[0].dims[1])) return TN_OK;
  const int64_t n = r->out[0].dims[1]->k;
  if (x->rank * n > TN_MAX_CONTENT) return TN_OK;
  tn_elem *const out = tn_rule_elems(r, x->rank * n);
  for (int64_t i = 0; i < tn_type_content_count(x) && at < n; i++) {
    if (select_elem_nonzero(r, &x->content[i], &known)) {
      for (int d = 0; d < x->rank; d++) out[d * n + at] = tn_elem_sym(tn_sym_int(r->syms, index[d]));
      at++;
    }
    (void)tn_op_next(x->rank, dims, index);
  }
  if (known) tn_rule_set_content(r, 0, out);
  return TN_OK;
}
static tn_status non_zero_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  int64_t dims[2] = {x->rank, 0}, index[TN_MAX_RANK] = {0}, at = 0;
  tn_lit *y;
  for (int64_t i = 0; i < x->count; i++) dims[1] += select_nonzero(x, i);
  TN_TRY(tn_eval_out(e, 0, TN_I64, 2, dims, &y));
  for (int64_t i = 0; i < x->count; i++) {
    if (select_nonzero(x, i)) {
      for (int d = 0; d < x->rank; d++) tn_store_i64(TN_I64, tn_lit_data(y), d * dims[1] + at, index[d]);
      at++;
    }
    (void)tn_op_next(x->rank, x->dims, index);
  }
  return TN_OK;
}
TN_OP(non_zero){
    .name = "non_zero",
    .in = {{"x", 0}},
    .out = {{"y", TN_SET(I64)}},
    .type = tn_type_i64,
    .shape = non_zero_shape,
    .value = non_zero_value,
    .eval = non_zero_eval,
    .kernel = "non_zero",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_BOUND,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the places of elements that are not zero, one column each",
};

/* --- compress --- */

static tn_status compress_shape(tn_rule *r) {
  const tn_attr *const attr = tn_rule_attr(r, "axis");
  int axis = 0;
  TN_TRY(tn_rule_need_rank(r, 1, 1, 1));
  if (!tn_rule_has_rank(r, 0)) {
    const tn_sym open = attr ? NULL : tn_rule_fresh(r, 0, 0, 0, NULL);
    if (open) tn_rule_set(r, 0, 1, &open);
    return TN_OK;
  }
  const tn_type *const x = r->in[0];
  if (attr) TN_TRY(tn_rule_axis(r, "axis", attr->i, x->rank, &axis));
  tn_sym most = attr ? x->dims[axis] : tn_type_count(r->syms, x);
  if (tn_rule_has_rank(r, 1)) most = tn_sym_min(r->syms, most, r->in[1]->dims[0]);
  int64_t n, *v, found = 0;
  bool known = tn_rule_const_ints(r, 1, &n, &v) && tn_sym_is_int(most);
  for (int64_t i = 0; known && i < n && i < most->k; i++) found += v[i] != 0;
  const tn_sym count = known ? tn_sym_int(r->syms, found) : tn_rule_fresh(r, 0, axis, 0, most);
  tn_sym *const dims = tn_rule_dims(r, x->rank + 1);
  for (int d = 0; d < x->rank; d++) dims[d] = d == axis ? count : x->dims[d];
  if (!attr) dims[0] = count;
  tn_rule_set(r, 0, attr ? x->rank : 1, dims);
  return TN_OK;
}
static tn_status compress_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  const tn_lit *const condition = e->in[1];
  const tn_attr *const attr = tn_eval_attr(e, "axis");
  int64_t dims[TN_MAX_RANK + 1], outer = 1, inner = 1, length = x->count, kept = 0, to = 0;
  int axis = 0;
  tn_lit *y;
  if (attr) {
    TN_TRY(tn_eval_axis(e, attr->i, x->rank, &axis));
    for (int d = 0; d < x->rank; d++)
      *(d < axis ? &outer : (d == axis ? &length : &inner)) *= d == axis ? 1 : x->dims[d];
    length = x->dims[axis];
  }
  const int64_t n = condition->count < length ? condition->count : length;
  for (int64_t i = 0; i < n; i++) kept += tn_lit_i64_at(condition, i) != 0;
  for (int d = 0; d < x->rank; d++) dims[d] = x->dims[d];
  dims[axis] = kept;
  TN_TRY(tn_eval_out(e, 0, x->dtype, attr ? x->rank : 1, dims, &y));
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < n; i++)
      for (int64_t k = 0; tn_lit_i64_at(condition, i) && k < inner; k++)
        tn_copy_element(x->dtype, tn_lit_data(y), to++, x->data, (o * length + i) * inner + k);
  return TN_OK;
}
TN_OP(compress){
    .name = "compress",
    .in = {{"input", 0, "T"}, {"condition", TN_SET(BOOL)}},
    .out = {{"output", 0, "T"}},
    .attrs = {{"axis", TN_ATTR_INT}},
    .type = tn_type_as_input,
    .shape = compress_shape,
    .value = tn_op_value_move_first,
    .eval = compress_eval,
    .kernel = "compress",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_BOUND,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the slices of an axis (or the elements) whose condition holds",
};

/* --- non_max_suppression --- */

static tn_status non_max_suppression_shape(tn_rule *r) {
  tn_sym most = NULL;
  TN_TRY(tn_rule_need_rank(r, 0, 3, 3));
  TN_TRY(tn_rule_need_rank(r, 1, 3, 3));
  for (int i = 2; i < 5; i++) TN_TRY(tn_rule_need_rank(r, i, 0, 1));
  if (tn_rule_has_rank(r, 0) && tn_rule_has_rank(r, 1)) {
    const tn_sym *const b = r->in[0]->dims;
    const tn_sym *const s = r->in[1]->dims;
    tn_sym each;
    TN_TRY(tn_rule_unify(r, b[0], s[0], "boxes and scores differ in", 0, NULL));
    TN_TRY(tn_rule_unify(r, b[1], s[2], "boxes and scores differ in", 1, &each));
    TN_TRY(tn_rule_unify(r, b[2], tn_sym_int(r->syms, 4), "boxes", 2, NULL));
    const tn_sym limit = tn_rule_has(r, 2) ? tn_op_elem(r, 2, 0) : NULL;
    if (limit) each = tn_sym_min(r->syms, each, tn_sym_max(r->syms, limit, tn_sym_int(r->syms, 0)));
    most = tn_sym_mul(r->syms, tn_sym_mul(r->syms, s[0], s[1]), each);
  }
  const tn_sym dims[2] = {tn_rule_fresh(r, 0, 0, 0, most), tn_sym_int(r->syms, 3)};
  tn_rule_set(r, 0, 2, dims);
  return TN_OK;
}
typedef struct select_box {
  double y0, x0, y1, x1;
} select_box;
static select_box select_box_at(const tn_lit *boxes, int64_t i, bool centre) {
  double v[4];
  for (int k = 0; k < 4; k++) v[k] = tn_lit_f64(boxes, 4 * i + k);
  if (centre) return (select_box){v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return (select_box){fmin(v[0], v[2]), fmin(v[1], v[3]), fmax(v[0], v[2]), fmax(v[1], v[3])};
}
static double select_overlap(select_box a, select_box b) {
  const double h = fmin(a.y1, b.y1) - fmax(a.y0, b.y0), w = fmin(a.x1, b.x1) - fmax(a.x0, b.x0);
  if (h <= 0 || w <= 0) return 0;
  const double both = h * w, area_a = (a.y1 - a.y0) * (a.x1 - a.x0), area_b = (b.y1 - b.y0) * (b.x1 - b.x0);
  return area_a <= 0 || area_b <= 0 ? 0 : both / (area_a + area_b - both);
}
typedef struct select_scores {
  const tn_lit *scores;
  int64_t base;
} select_scores;
static bool select_scores_before(const void *arg, int64_t a, int64_t b) {
  const select_scores *const s = arg;
  return tn_lit_f64(s->scores, s->base + a) > tn_lit_f64(s->scores, s->base + b);
}
static double select_threshold(const tn_eval *e, int i, double absent) {
  const tn_lit *const t = tn_op_eval_in(e, i);
  return t && t->count ? tn_lit_f64(t, 0) : absent;
}
static tn_status non_max_suppression_eval(tn_eval *e) {
  const tn_lit *const boxes = e->in[0];
  const tn_lit *const scores = e->in[1];
  const tn_lit *const limit_in = tn_op_eval_in(e, 2);
  const bool centre = tn_eval_int(e, "center_point_box") != 0;
  if (boxes->rank != 3 || scores->rank != 3 || boxes->dims[2] != 4 || boxes->dims[0] != scores->dims[0] ||
      boxes->dims[1] != scores->dims[2])
    return tn_eval_fail(e, TN_MISMATCH, "boxes and scores do not fit");
  const int64_t n = boxes->dims[1], limit = limit_in && limit_in->count ? tn_lit_i64_at(limit_in, 0) : 0;
  const double most = select_threshold(e, 3, 0), least = select_threshold(e, 4, -HUGE_VAL);
  const int64_t lines = scores->dims[0] * scores->dims[1];
  int64_t *const order = TN_NEW_ARRAY(e->arena, int64_t, n + 1);
  int64_t *const picked = TN_NEW_ARRAY(e->arena, int64_t, lines * n * 3 + 1);
  int64_t dims[2] = {0, 3};
  for (int64_t line = 0; line < lines; line++) {
    const select_scores s = {scores, line * n};
    const int64_t first = dims[0], image = line / scores->dims[1] * n;
    for (int64_t i = 0; i < n; i++) order[i] = i;
    tn_op_sort(e->arena, order, n, select_scores_before, &s);
    for (int64_t i = 0; i < n && dims[0] - first < limit; i++) {
      bool keep = tn_lit_f64(scores, line * n + order[i]) > least;
      for (int64_t p = first; keep && p < dims[0]; p++)
        keep = select_overlap(select_box_at(boxes, image + order[i], centre),
                              select_box_at(boxes, image + picked[3 * p + 2], centre)) <= most;
      if (!keep) continue;
      picked[3 * dims[0]] = line / scores->dims[1];
      picked[3 * dims[0] + 1] = line % scores->dims[1];
      picked[3 * dims[0]++ + 2] = order[i];
    }
  }
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_I64, 2, dims, &y));
  for (int64_t i = 0; i < y->count; i++) tn_store_i64(TN_I64, tn_lit_data(y), i, picked[i]);
  return TN_OK;
}
TN_OP(non_max_suppression){
    .name = "non_max_suppression",
    .in = {{"boxes", TN_SET(F32)},
           {"scores", TN_SET(F32)},
           {"max_output_boxes_per_class", TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES},
           {"iou_threshold", TN_SET(F32), NULL, TN_PORT_OPTIONAL},
           {"score_threshold", TN_SET(F32), NULL, TN_PORT_OPTIONAL}},
    .out = {{"selected_indices", TN_SET(I64)}},
    .attrs = {{"center_point_box", TN_ATTR_INT, .i = 0, .has_default = true}},
    .type = tn_type_i64,
    .shape = non_max_suppression_shape,
    .eval = non_max_suppression_eval,
    .kernel = "non_max_suppression",
    .traits = TN_TRAIT_PURE,
    .sizes = TN_SIZES_BOUND,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the best boxes of each class that do not overlap better ones too much",
};

/* clang-format off */
TN_ONNX(ai, NonZero, 9, TN_LATEST, non_zero, tn_import_same)
TN_ONNX(ai, Compress, 9, TN_LATEST, compress, tn_import_same)
TN_ONNX(ai, NonMaxSuppression, 10, TN_LATEST, non_max_suppression, tn_import_same)
