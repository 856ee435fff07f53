/* Sequences and optionals. A sequence's element type may have open dims (NULL): they differ from item to item. */
#include "op/sequence.h"
#include "ir/edit.h"
#include "ir/eval.h"
#include "ir/import.h"
#include "ir/infer.h"
#include "op/control.h"

enum { SEQUENCE_EACH = 64 }; /* items whose types are kept one by one */

static const tn_type sequence_any_tensor = {.kind = TN_TYPE_TENSOR, .rank = -1};

static const tn_type *sequence_elem(const tn_type *t) { return t->elem ? t->elem : &sequence_any_tensor; }

static const tn_type *sequence_keep(tn_rule *r, tn_type t) {
  t.content = NULL;
  tn_type *const own = TN_NEW(&r->ctx->arena, tn_type);
  *own = t;
  return own;
}

static void sequence_set(tn_rule *r, int i, tn_type elem, tn_items items) {
  tn_items *const own = TN_NEW(&r->ctx->arena, tn_items);
  *own = items;
  r->out[i] = (tn_type){.kind = TN_TYPE_SEQUENCE, .rank = -1, .elem = sequence_keep(r, elem), .items = own};
}

static tn_items sequence_items(const tn_type *t) { return t->items ? *t->items : (tn_items){0}; }

static tn_status sequence_join(tn_rule *r, const tn_type *a, const tn_type *b, tn_type *out) {
  if (a->kind == TN_TYPE_TENSOR && b->kind == TN_TYPE_TENSOR && a->dtype && b->dtype && a->dtype != b->dtype)
    return tn_rule_fail(r, TN_MISMATCH, "an item is %s, the others are %s", tn_dtype_name(b->dtype),
                        tn_dtype_name(a->dtype));
  *out = a->kind == b->kind ? *tn_type_join_elem(&r->ctx->arena, a, b) : *a;
  return TN_OK;
}

const tn_sym *tn_op_item_totals(tn_rule *r, const tn_type *elem, tn_sym count) {
  if (!count || elem->kind != TN_TYPE_TENSOR || elem->rank < 0) return NULL;
  tn_sym *const totals = tn_rule_dims(r, elem->rank);
  for (int d = 0; d < elem->rank; d++) totals[d] = elem->dims[d] ? tn_sym_mul(r->syms, count, elem->dims[d]) : NULL;
  return totals;
}

/* A sequence of these types, which are kept. */
static tn_status sequence_set_each(tn_rule *r, int i, const tn_type *each, int64_t n) {
  tn_type elem = each[0];
  for (int64_t k = 1; k < n; k++) TN_TRY(sequence_join(r, &elem, &each[k], &elem));
  tn_items items = {.count = tn_sym_int(r->syms, n), .each = n <= SEQUENCE_EACH ? each : NULL};
  tn_sym *const totals = elem.kind == TN_TYPE_TENSOR && elem.rank >= 0 ? tn_rule_dims(r, elem.rank) : NULL;
  tn_sym *const parts = tn_rule_dims(r, (int)n);
  for (int d = 0; totals && d < elem.rank; d++) {
    bool known = true;
    for (int64_t k = 0; k < n; k++) {
      parts[k] = each[k].dims[d];
      known = known && parts[k];
    }
    totals[d] = known ? tn_sym_sum(r->syms, parts, (size_t)n) : NULL;
  }
  items.totals = totals;
  sequence_set(r, i, elem, items);
  return TN_OK;
}

/* Output i := one item of the sequence. */
static void sequence_set_item(tn_rule *r, int i, const tn_type *elem) {
  r->out[i] = *elem;
  if (elem->rank < 0) r->out[i].rank = -1;
  if (elem->kind != TN_TYPE_TENSOR || elem->rank < 0) return;
  tn_sym *const dims = tn_rule_dims(r, elem->rank);
  for (int d = 0; d < elem->rank; d++) dims[d] = elem->dims[d] ? elem->dims[d] : tn_rule_fresh(r, i, d, 0, NULL);
  tn_rule_set(r, i, elem->rank, dims);
}

/* The node that made the sequence of input i, where that is operator `name`; its operands tell what the type of a
 * sequence does not hold. */
static const tn_node *sequence_maker(const tn_rule *r, int i, const char *name) {
  const tn_value *v = r->node->in[i];
  while (v->def && strcmp(v->def->op->name, "identity") == 0) v = v->def->in[0];
  return v->def && strcmp(v->def->op->name, name) == 0 ? v->def : NULL;
}

static int64_t sequence_attr(const tn_node *node, const char *name) {
  return node->attrs[tn_op_attr_index(node->op, name)].i;
}

static tn_status sequence_no_type(tn_rule *r) {
  (void)r; /* the shape rule gives the whole type */
  return TN_OK;
}

static tn_lit *sequence_lit(tn_eval *e, int i, tn_type_kind kind, const tn_lit *const *items, int64_t n) {
  tn_lit *const s = TN_NEW(e->arena, tn_lit);
  s->kind = kind;
  s->items = items;
  s->n_items = n;
  s->file_offset = -1;
  e->out[i] = s;
  return s;
}

static tn_status sequence_position(tn_eval *e, const tn_lit *at, int64_t n, int64_t limit, int64_t *out) {
  int64_t p = at ? (at->count == 1 ? tn_lit_i64_at(at, 0) : INT64_MAX) : limit;
  if (p < 0) p += n;
  if (p < 0 || p > limit)
    return tn_eval_fail(e, TN_MISMATCH, "position %lld is outside a sequence of %lld", (long long)p, (long long)n);
  *out = p;
  return TN_OK;
}

#define SEQUENCE_PORT(id) \
  { #id, 0, NULL, TN_PORT_SEQUENCE }
#define SEQUENCE_ROW .type = sequence_no_type, .traits = TN_TRAIT_PURE, .accuracy = {TN_ACC_EXACT, 0}

/* --- sequence_empty, sequence_construct --- */

static tn_status sequence_empty_shape(tn_rule *r) {
  const tn_attr *const d = tn_rule_attr(r, "dtype");
  if (d && !tn_dtype_valid((int)d->i))
    return tn_rule_fail(r, TN_INVALID, "attribute 'dtype' is %lld, which is no element type", (long long)d->i);
  sequence_set(r, 0, tn_type_tensor(d ? (tn_dtype)d->i : TN_F32, TN_RANK_NO_ITEM, NULL),
               (tn_items){.count = tn_sym_int(r->syms, 0)});
  return TN_OK;
}
static tn_status sequence_empty_eval(tn_eval *e) {
  (void)sequence_lit(e, 0, TN_TYPE_SEQUENCE, NULL, 0);
  return TN_OK;
}
TN_OP(sequence_empty){
    .name = "sequence_empty",
    .out = {SEQUENCE_PORT(output)},
    .attrs = {{"dtype", TN_ATTR_DTYPE}},
    .shape = sequence_empty_shape,
    .eval = sequence_empty_eval,
    .kernel = "sequence_empty",
    SEQUENCE_ROW,
    .doc = "a sequence without items",
};

static tn_status sequence_construct_shape(tn_rule *r) {
  tn_type *const each = TN_NEW_ARRAY(&r->ctx->arena, tn_type, r->n_in);
  for (int i = 0; i < r->n_in; i++) {
    each[i] = *r->in[i];
    each[i].content = NULL;
  }
  return sequence_set_each(r, 0, each, r->n_in);
}
static tn_status sequence_construct_eval(tn_eval *e) {
  (void)sequence_lit(e, 0, TN_TYPE_SEQUENCE, e->in, e->n_in);
  return TN_OK;
}
TN_OP(sequence_construct){
    .name = "sequence_construct",
    .in = {{"inputs", 0, "T", TN_PORT_VARIADIC}},
    .out = {SEQUENCE_PORT(output_sequence)},
    .shape = sequence_construct_shape,
    .eval = sequence_construct_eval,
    .kernel = "sequence_construct",
    SEQUENCE_ROW,
    .doc = "a sequence of the operands",
};

/* --- sequence_insert, sequence_erase, sequence_at, sequence_length --- */

/* The constant position that input i gives, of `limit` + 1 places in a sequence of n; -1: not known. */
static int64_t sequence_constant(const tn_rule *r, int i, int64_t n, int64_t limit) {
  int64_t count, *at;
  if (!tn_rule_has(r, i)) return limit;
  if (!tn_rule_const_ints(r, i, &count, &at) || count != 1) return -1;
  const int64_t place = at[0] < 0 ? at[0] + n : at[0];
  return place >= 0 && place <= limit ? place : -1;
}

/* The types one by one, with one more at `at` (`added`), or without that at `at`; NULL where they are not known. */
static const tn_type *sequence_changed(tn_rule *r, const tn_items *had, const tn_type *added, int64_t at) {
  const bool empty = had->count && tn_sym_is(had->count, 0);
  if ((!had->each && !empty) || at < 0 || had->count->k >= SEQUENCE_EACH) return NULL;
  const int64_t n = had->count->k + (added ? 1 : -1);
  tn_type *const each = TN_NEW_ARRAY(&r->ctx->arena, tn_type, n + 1);
  for (int64_t k = 0; k < n; k++)
    if (added && k == at)
      each[k] = *added;
    else
      each[k] = had->each[added ? k - (k > at) : k + (k >= at)];
  return each;
}

static int64_t sequence_known_count(const tn_items *items) {
  return items->count && tn_sym_is_int(items->count) ? items->count->k : -1;
}

static tn_status sequence_insert_shape(tn_rule *r) {
  const tn_items had = sequence_items(r->in[0]);
  const int64_t n = sequence_known_count(&had);
  tn_type added = *r->in[1], elem;
  added.content = NULL;
  const tn_type *const each = n < 0 ? NULL : sequence_changed(r, &had, &added, sequence_constant(r, 2, n, n));
  if (each) return sequence_set_each(r, 0, each, n + 1);
  TN_TRY(sequence_join(r, sequence_elem(r->in[0]), &added, &elem));
  tn_items items = {.count = had.count ? tn_sym_addi(r->syms, had.count, 1) : NULL};
  tn_sym *const totals = had.totals && elem.rank >= 0 ? tn_rule_dims(r, elem.rank) : NULL;
  for (int d = 0; totals && d < elem.rank; d++)
    totals[d] = had.totals[d] ? tn_sym_add(r->syms, had.totals[d], added.dims[d]) : NULL;
  items.totals = totals;
  sequence_set(r, 0, elem, items);
  return TN_OK;
}
static tn_status sequence_insert_eval(tn_eval *e) {
  const int64_t n = e->in[0]->n_items;
  int64_t at = 0;
  TN_TRY(sequence_position(e, e->n_in > 2 ? e->in[2] : NULL, n, n, &at));
  const tn_lit **const items = TN_NEW_ARRAY(e->arena, const tn_lit *, n + 1);
  for (int64_t i = 0; i <= n; i++) items[i] = i == at ? e->in[1] : e->in[0]->items[i > at ? i - 1 : i];
  (void)sequence_lit(e, 0, TN_TYPE_SEQUENCE, items, n + 1);
  return TN_OK;
}
TN_OP(sequence_insert){
    .name = "sequence_insert",
    .in = {SEQUENCE_PORT(input_sequence),
           {"tensor", 0},
           {"position", TN_SET(I32) | TN_SET(I64), NULL, TN_PORT_OPTIONAL}},
    .out = {SEQUENCE_PORT(output_sequence)},
    .shape = sequence_insert_shape,
    .eval = sequence_insert_eval,
    .kernel = "sequence_insert",
    SEQUENCE_ROW,
    .doc = "the sequence with a tensor inserted, by default at the end",
};

static tn_status sequence_erase_shape(tn_rule *r) {
  const tn_items had = sequence_items(r->in[0]);
  const int64_t n = sequence_known_count(&had);
  const tn_type *const each = n < 2 ? NULL : sequence_changed(r, &had, NULL, sequence_constant(r, 1, n, n - 1));
  if (each) return sequence_set_each(r, 0, each, n - 1);
  const tn_type *const elem = sequence_elem(r->in[0]);
  const tn_sym count = had.count && n != 0 ? tn_sym_addi(r->syms, had.count, -1) : NULL;
  sequence_set(r, 0, *elem, (tn_items){.count = count, .totals = tn_op_item_totals(r, elem, count)});
  return TN_OK;
}
static tn_status sequence_erase_eval(tn_eval *e) {
  const int64_t n = e->in[0]->n_items;
  int64_t at = 0;
  TN_TRY(sequence_position(e, e->n_in > 1 ? e->in[1] : NULL, n, n - 1, &at));
  const tn_lit **const items = TN_NEW_ARRAY(e->arena, const tn_lit *, n);
  for (int64_t i = 0; i + 1 < n; i++) items[i] = e->in[0]->items[i >= at ? i + 1 : i];
  (void)sequence_lit(e, 0, TN_TYPE_SEQUENCE, items, n - 1);
  return TN_OK;
}
TN_OP(sequence_erase){
    .name = "sequence_erase",
    .in = {SEQUENCE_PORT(input_sequence), {"position", TN_SET(I32) | TN_SET(I64), NULL, TN_PORT_OPTIONAL}},
    .out = {SEQUENCE_PORT(output_sequence)},
    .shape = sequence_erase_shape,
    .eval = sequence_erase_eval,
    .kernel = "sequence_erase",
    SEQUENCE_ROW,
    .doc = "the sequence without one item, by default the last",
};

/* Of split_to_sequence: the axis, or -1. */
static int sequence_split_axis(const tn_node *split) {
  const tn_type *const x = &split->in[0]->type;
  if (!tn_type_has_rank(x)) return -1;
  const int64_t axis = sequence_attr(split, "axis"), at = axis < 0 ? axis + x->rank : axis;
  return at < 0 || at >= x->rank ? -1 : (int)at;
}

/* The length of each part but the last, where that is one known number; NULL where none is given or known. */
static tn_sym sequence_step(const tn_rule *r, const tn_node *split) {
  const tn_type *const parts = split->n_in > 1 && split->in[1] ? &split->in[1]->type : NULL;
  const bool known = parts && parts->rank == 0 && parts->content && parts->content[0].kind == TN_ELEM_SYM;
  return known && tn_sym_bounds(r->syms, parts->content[0].sym).lo >= 1 ? parts->content[0].sym : NULL;
}

/* The number of items, or NULL. */
static tn_sym sequence_count(const tn_rule *r) { return sequence_items(r->in[0]).count; }

/* Of split_to_sequence. */
static tn_sym sequence_split_count(const tn_rule *r, int axis) {
  const tn_type *const parts = tn_rule_has(r, 1) ? r->in[1] : NULL;
  if (!parts) return r->in[0]->dims[axis];
  if (parts->rank == 1) return parts->dims[0];
  const tn_sym step = sequence_step(r, r->node);
  return step ? tn_sym_ceildiv(r->syms, r->in[0]->dims[axis], step) : NULL;
}

/* The length of part `at` (from 0) of split_to_sequence with given lengths, or NULL. */
static tn_sym sequence_part(const tn_rule *r, const tn_node *split, int axis, tn_sym at) {
  tn_symtab *const t = r->syms;
  const tn_type *const parts = &split->in[1]->type;
  const tn_sym step = sequence_step(r, split);
  if (step) return tn_sym_min(t, step, tn_sym_sub(t, split->in[0]->type.dims[axis], tn_sym_mul(t, at, step)));
  if (parts->rank != 1 || !parts->content || !tn_sym_is_int(at) || at->k < 0) return NULL;
  const bool inside = at->k < tn_type_content_count(parts) && parts->content[at->k].kind == TN_ELEM_SYM;
  return inside ? parts->content[at->k].sym : NULL;
}

/* Position `*at` (an expression, or NULL) of the sequence of input 0: counted from its begin; NULL where that is not
 * known. It is demanded to be inside where the number of items is known. */
static tn_status sequence_place(tn_rule *r, tn_sym *at) {
  tn_symtab *const t = r->syms;
  const tn_sym n = sequence_count(r), asked = *at;
  if (!asked || !n) return TN_OK;
  const tn_interval b = tn_sym_bounds(t, asked);
  *at = b.lo >= 0 ? asked : b.hi < 0 ? tn_sym_add(t, asked, n) : NULL;
  const tn_sym low = tn_sym_le(t, tn_sym_neg(t, n), asked), high = tn_sym_lt(t, asked, n);
  return tn_rule_demand(r, tn_sym_and(t, low, high), "position %s is outside a sequence of %s", tn_sym_text(t, asked),
                        tn_sym_text(t, n));
}

static tn_status sequence_at_shape(tn_rule *r) {
  const tn_type *const each = sequence_items(r->in[0]).each;
  const tn_node *const split = sequence_maker(r, 0, "split_to_sequence");
  int64_t n;
  tn_sym *given, at = tn_rule_ints(r, 1, &n, &given) && n == 1 ? given[0] : NULL;
  TN_TRY(sequence_place(r, &at));
  if (each && at && tn_sym_is_int(at)) {
    sequence_set_item(r, 0, &each[at->k]);
    return TN_OK;
  }
  sequence_set_item(r, 0, sequence_elem(r->in[0]));
  const int axis = split && split->n_in > 1 && split->in[1] ? sequence_split_axis(split) : -1;
  const tn_sym part = axis >= 0 && at ? sequence_part(r, split, axis, at) : NULL;
  if (!part || r->out[0].rank <= axis) return TN_OK;
  tn_sym *const dims = tn_rule_dims(r, r->out[0].rank);
  for (int d = 0; d < r->out[0].rank; d++) dims[d] = d == axis ? part : r->out[0].dims[d];
  tn_rule_set(r, 0, r->out[0].rank, dims);
  return TN_OK;
}
static tn_status sequence_at_eval(tn_eval *e) {
  int64_t at = 0;
  TN_TRY(sequence_position(e, e->in[1], e->in[0]->n_items, e->in[0]->n_items - 1, &at));
  e->out[0] = (tn_lit *)(uintptr_t)e->in[0]->items[at];
  return TN_OK;
}
TN_OP(sequence_at){
    .name = "sequence_at",
    .in = {SEQUENCE_PORT(input_sequence), {"position", TN_SET(I32) | TN_SET(I64), NULL, TN_PORT_SHAPES}},
    .out = {{"tensor", 0}},
    .shape = sequence_at_shape,
    .eval = sequence_at_eval,
    .kernel = "sequence_at",
    .sizes = TN_SIZES_OPEN,
    SEQUENCE_ROW,
    .doc = "one item",
};

static tn_status sequence_length_value(tn_rule *r) {
  const tn_sym n = sequence_count(r);
  const tn_elem e = n ? tn_elem_sym(n) : (tn_elem){0};
  if (n) tn_rule_set_content(r, 0, &e);
  return TN_OK;
}
static tn_status sequence_length_eval(tn_eval *e) {
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_I64, 0, NULL, &y));
  tn_store_i64(TN_I64, tn_lit_data(y), 0, e->in[0]->n_items);
  return TN_OK;
}
TN_OP(sequence_length){
    .name = "sequence_length",
    .in = {SEQUENCE_PORT(input_sequence)},
    .out = {{"length", TN_SET(I64)}},
    .type = tn_type_i64,
    .shape = tn_shape_scalar,
    .value = sequence_length_value,
    .eval = sequence_length_eval,
    .kernel = "sequence_length",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "the number of items",
};

/* --- split_to_sequence, concat_from_sequence --- */

static tn_status split_to_sequence_shape(tn_rule *r) {
  const tn_type *const x = r->in[0];
  tn_type elem = tn_type_tensor(x->dtype, -1, NULL);
  if (x->rank < 0) return sequence_set(r, 0, elem, (tn_items){0}), TN_OK;
  int axis;
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), x->rank, &axis));
  const bool keep = tn_rule_has(r, 1) || tn_rule_int(r, "keepdims");
  tn_sym *const dims = tn_rule_dims(r, x->rank);
  int rank = 0;
  int64_t n = 0, *parts = NULL;
  for (int d = 0; d < x->rank; d++) {
    if (d != axis) dims[rank++] = x->dims[d];
    if (d == axis && keep) dims[rank++] = tn_rule_has(r, 1) ? NULL : tn_sym_int(r->syms, 1);
  }
  if (keep && tn_rule_has(r, 1) && tn_rule_const_ints(r, 1, &n, &parts)) {
    for (int64_t i = 0; i < n; i++)
      if (parts[i] < (r->in[1]->rank == 0))
        return tn_rule_fail(r, TN_INVALID, "part %lld has length %lld", (long long)i, (long long)parts[i]);
  }
  elem = tn_type_tensor(x->dtype, rank, dims);
  tn_items items = {.count = sequence_split_count(r, axis)};
  tn_sym *const totals = tn_rule_dims(r, rank);
  for (int d = 0; d < rank; d++)
    totals[d] = keep && d == axis             ? x->dims[axis]
                : items.count && elem.dims[d] ? tn_sym_mul(r->syms, items.count, elem.dims[d])
                                              : NULL;
  items.totals = totals;
  sequence_set(r, 0, elem, items);
  return TN_OK;
}

/* Part lengths along the axis: given ones, equal ones of a scalar length (the last may be shorter), or ones. */
static tn_status sequence_parts(tn_eval *e, int64_t dim, int64_t *out_n, int64_t **out) {
  const tn_lit *const split = e->n_in > 1 ? e->in[1] : NULL;
  const int64_t step = split && split->rank == 0 ? tn_lit_i64_at(split, 0) : 1;
  if (step < 1) return tn_eval_fail(e, TN_INVALID, "a part has length %lld", (long long)step);
  const int64_t n = split && split->rank == 1 ? split->count : dim / step + (dim % step != 0);
  int64_t *const parts = TN_NEW_ARRAY(e->arena, int64_t, n);
  int64_t sum = 0;
  for (int64_t i = 0; i < n; i++) {
    parts[i] = split && split->rank == 1 ? tn_lit_i64_at(split, i) : (dim - sum < step ? dim - sum : step);
    if (parts[i] < 0 || parts[i] > dim - sum)
      return tn_eval_fail(e, TN_MISMATCH, "the parts do not add up to %lld", (long long)dim);
    sum += parts[i];
  }
  if (sum != dim)
    return tn_eval_fail(e, TN_MISMATCH, "the parts add up to %lld, not %lld", (long long)sum, (long long)dim);
  *out_n = n;
  *out = parts;
  return TN_OK;
}

static tn_status split_to_sequence_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  int axis;
  int64_t n = 0, *parts = NULL, outer = 1, inner = 1, start = 0;
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), x->rank, &axis));
  TN_TRY(sequence_parts(e, x->dims[axis], &n, &parts));
  const bool keep = e->n_in > 1 && e->in[1] ? true : tn_eval_int(e, "keepdims") != 0;
  for (int d = 0; d < axis; d++) outer *= x->dims[d];
  for (int d = axis + 1; d < x->rank; d++) inner *= x->dims[d];
  const tn_lit **const items = TN_NEW_ARRAY(e->arena, const tn_lit *, n);
  for (int64_t i = 0; i < n; i++) {
    int64_t dims[TN_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
      if (d != axis || keep) dims[rank++] = d == axis ? parts[i] : x->dims[d];
    tn_lit *const y = tn_lit_new(e->arena, x->dtype, rank, dims);
    for (int64_t o = 0; o < outer; o++)
      for (int64_t c = 0; c < parts[i] * inner; c++)
        tn_copy_element(x->dtype, tn_lit_data(y), o * parts[i] * inner + c, x->data,
                        (o * x->dims[axis] + start) * inner + c);
    start += parts[i];
    items[i] = y;
  }
  (void)sequence_lit(e, 0, TN_TYPE_SEQUENCE, items, n);
  return TN_OK;
}
TN_OP(split_to_sequence){
    .name = "split_to_sequence",
    .in = {{"input", 0}, {"split", TN_SET(I32) | TN_SET(I64), NULL, TN_PORT_OPTIONAL | TN_PORT_SHAPES}},
    .out = {SEQUENCE_PORT(output_sequence)},
    .attrs = {{"axis", TN_ATTR_INT, .i = 0, .has_default = true}, {"keepdims", TN_ATTR_INT, .i = 1}},
    .shape = split_to_sequence_shape,
    .eval = split_to_sequence_eval,
    .kernel = "split_to_sequence",
    SEQUENCE_ROW,
    .doc = "a tensor cut along an axis",
};

static tn_status concat_from_sequence_shape(tn_rule *r) {
  const tn_type *const elem = sequence_elem(r->in[0]);
  const tn_items items = sequence_items(r->in[0]);
  const bool new_axis = tn_rule_int(r, "new_axis") != 0;
  r->out[0] = tn_type_tensor(elem->dtype, -1, NULL);
  if (elem->rank < 0 || elem->rank + new_axis > TN_MAX_RANK) return TN_OK;
  int axis;
  TN_TRY(tn_rule_axis(r, "axis", tn_rule_int(r, "axis"), elem->rank + new_axis, &axis));
  tn_sym *const dims = tn_rule_dims(r, elem->rank + new_axis);
  for (int d = 0, from = 0; d < elem->rank + new_axis; d++) {
    const tn_sym joined = new_axis ? items.count : items.totals ? items.totals[axis] : NULL;
    const tn_sym known = d == axis ? joined : elem->dims[from];
    if (d != axis || !new_axis) from++;
    dims[d] = known ? known : tn_rule_fresh(r, 0, d, 0, NULL);
  }
  tn_rule_set(r, 0, elem->rank + new_axis, dims);
  return TN_OK;
}
static tn_status concat_from_sequence_eval(tn_eval *e) {
  const tn_lit *const s = e->in[0];
  const bool new_axis = tn_eval_int(e, "new_axis") != 0;
  if (s->n_items == 0) return tn_eval_fail(e, TN_MISMATCH, "the sequence is empty");
  const tn_lit *const first = s->items[0];
  int64_t dims[TN_MAX_RANK], outer = 1, inner = 1, start = 0;
  int axis;
  if (first->rank + new_axis > TN_MAX_RANK)
    return tn_eval_fail(e, TN_LIMIT, "rank %d is above %d", first->rank + new_axis, TN_MAX_RANK);
  TN_TRY(tn_eval_axis(e, tn_eval_int(e, "axis"), first->rank + new_axis, &axis));
  for (int d = 0, from = 0; d < first->rank + new_axis; d++)
    dims[d] = new_axis && d == axis ? s->n_items : first->dims[from++];
  if (!new_axis) {
    dims[axis] = 0;
    for (int64_t i = 0; i < s->n_items; i++) {
      if (s->items[i]->rank != first->rank)
        return tn_eval_fail(e, TN_MISMATCH, "item %lld has another rank", (long long)i);
      dims[axis] += s->items[i]->dims[axis];
    }
  }
  for (int d = 0; d < axis; d++) outer *= dims[d];
  for (int d = axis + 1; d < first->rank + new_axis; d++) inner *= dims[d];
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, first->dtype, first->rank + new_axis, dims, &y));
  for (int64_t i = 0; i < s->n_items; i++) {
    const int64_t n = new_axis ? 1 : s->items[i]->dims[axis];
    if (s->items[i]->count != outer * n * inner)
      return tn_eval_fail(e, TN_MISMATCH, "item %lld does not fit the others", (long long)i);
    for (int64_t o = 0; o < outer; o++)
      for (int64_t c = 0; c < n * inner; c++)
        tn_copy_element(y->dtype, tn_lit_data(y), (o * dims[axis] + start) * inner + c, s->items[i]->data,
                        o * n * inner + c);
    start += n;
  }
  return TN_OK;
}
TN_OP(concat_from_sequence){
    .name = "concat_from_sequence",
    .in = {SEQUENCE_PORT(input_sequence)},
    .out = {{"concat_result", 0}},
    .attrs = {{"axis", TN_ATTR_INT, .required = true}, {"new_axis", TN_ATTR_INT, .i = 0, .has_default = true}},
    .shape = concat_from_sequence_shape,
    .eval = concat_from_sequence_eval,
    .kernel = "concat_from_sequence",
    .sizes = TN_SIZES_OPEN,
    SEQUENCE_ROW,
    .doc = "the items joined along an axis, or stacked along a new one",
};

/* --- optionals --- */

static tn_status optional_shape(tn_rule *r) {
  const tn_attr *const type = tn_rule_attr(r, "type");
  if (!tn_rule_has(r, 0) && !(type && type->type))
    return tn_rule_fail(r, TN_INVALID, "neither an input nor attribute 'type'");
  r->out[0] = (tn_type){
      .kind = TN_TYPE_OPTIONAL, .rank = -1, .elem = sequence_keep(r, tn_rule_has(r, 0) ? *r->in[0] : *type->type)};
  return TN_OK;
}
static tn_status optional_eval(tn_eval *e) {
  const bool has = e->n_in > 0 && e->in[0];
  (void)sequence_lit(e, 0, TN_TYPE_OPTIONAL, has ? e->in : NULL, has ? 1 : 0);
  return TN_OK;
}
TN_OP(optional){
    .name = "optional",
    .in = {{"input", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_ANY_KIND}},
    .out = {SEQUENCE_PORT(output)},
    .attrs = {{"type", TN_ATTR_TYPE}},
    .shape = optional_shape,
    .eval = optional_eval,
    .kernel = "optional",
    SEQUENCE_ROW,
    .doc = "an optional that holds the operand, or nothing",
};

static tn_status optional_get_element_shape(tn_rule *r) {
  if (r->in[0]->kind != TN_TYPE_OPTIONAL) {
    r->out[0] = *r->in[0];
    return TN_OK;
  }
  sequence_set_item(r, 0, sequence_elem(r->in[0]));
  return TN_OK;
}
static tn_status optional_get_element_eval(tn_eval *e) {
  const tn_lit *const x = e->in[0];
  if (x->kind == TN_TYPE_OPTIONAL && x->n_items == 0) return tn_eval_fail(e, TN_MISMATCH, "the optional is empty");
  e->out[0] = (tn_lit *)(uintptr_t)(x->kind == TN_TYPE_OPTIONAL ? x->items[0] : x);
  return TN_OK;
}
TN_OP(optional_get_element){
    .name = "optional_get_element",
    .in = {{"input", 0, NULL, TN_PORT_ANY_KIND}},
    .out = {{"output", 0, NULL, TN_PORT_ANY_KIND}},
    .shape = optional_get_element_shape,
    .eval = optional_get_element_eval,
    .kernel = "optional_get_element",
    SEQUENCE_ROW,
    .doc = "what the optional holds",
};

static tn_status optional_has_element_eval(tn_eval *e) {
  tn_lit *y;
  TN_TRY(tn_eval_out(e, 0, TN_BOOL, 0, NULL, &y));
  const tn_lit *const x = e->n_in > 0 ? e->in[0] : NULL;
  tn_store_i64(TN_BOOL, tn_lit_data(y), 0, x && (x->kind != TN_TYPE_OPTIONAL || x->n_items > 0));
  return TN_OK;
}
/* What the operator that made the optional was given. */
static tn_status optional_has_element_value(tn_rule *r) {
  const tn_value *const x = r->n_in > 0 ? r->node->in[0] : NULL;
  const bool is_made = x && x->def && strcmp(x->def->op->name, "optional") == 0;
  if (!is_made) return TN_OK;
  const tn_elem has = tn_elem_sym(tn_sym_int(r->syms, x->def->n_in > 0 && x->def->in[0]));
  tn_rule_set_content(r, 0, &has);
  return TN_OK;
}
TN_OP(optional_has_element){
    .name = "optional_has_element",
    .in = {{"input", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_ANY_KIND}},
    .out = {{"output", TN_SET(BOOL)}},
    .type = tn_type_bool,
    .shape = tn_shape_scalar,
    .value = optional_has_element_value,
    .eval = optional_has_element_eval,
    .kernel = "optional_has_element",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "whether the optional holds something",
};

/* --- sequence_map: a region over the items; further operands are sequences of the same length, or shared --- */

static tn_status sequence_map_shape(tn_rule *r) {
  tn_region *const body = r->node->regions[0];
  if (body->n_params != r->n_in)
    return tn_rule_fail(r, TN_INVALID, "the body takes %d inputs, expected %d", body->n_params, r->n_in);
  if (body->n_results != r->n_out)
    return tn_rule_fail(r, TN_INVALID, "the body gives %d outputs, expected %d", body->n_results, r->n_out);
  for (int i = 0; i < r->n_in; i++) {
    tn_type t = r->in[i]->kind == TN_TYPE_SEQUENCE ? *sequence_elem(r->in[i]) : *r->in[i];
    if (t.rank < 0) t.rank = -1;
    if (t.kind == TN_TYPE_TENSOR && t.rank >= 0) {
      tn_sym *const dims = tn_rule_dims(r, t.rank);
      for (int d = 0; d < t.rank; d++) dims[d] = t.dims[d] ? t.dims[d] : tn_rule_fresh_value(r, body->params[i], d);
      t.dims = dims;
    }
    t.content = NULL;
    tn_edit_set_type(body->params[i], t);
  }
  TN_TRY(tn_infer_region(r->graph, body));
  tn_op_inside inside = tn_op_look_inside(r);
  const tn_sym count = sequence_count(r);
  for (int i = 0; i < r->n_out; i++) {
    tn_type t = body->results[i]->type;
    if (t.kind == TN_TYPE_TENSOR && t.rank >= 0) { /* sizes that the body makes differ from item to item */
      tn_sym *const dims = tn_rule_dims(r, t.rank);
      for (int d = 0; d < t.rank; d++) dims[d] = tn_op_leaves(&inside, t.dims[d]) ? t.dims[d] : NULL;
      t.dims = dims;
    }
    sequence_set(r, i, t, (tn_items){.count = count, .totals = tn_op_item_totals(r, &t, count)});
  }
  return TN_OK;
}
static tn_status sequence_map_eval(tn_eval *e) {
  const int64_t n = e->in[0]->n_items;
  const tn_lit **const params = TN_NEW_ARRAY(e->arena, const tn_lit *, e->n_in);
  const tn_lit **const results = TN_NEW_ARRAY(e->arena, const tn_lit *, e->n_out);
  const tn_lit ***const items = TN_NEW_ARRAY(e->arena, const tn_lit **, e->n_out);
  for (int i = 0; i < e->n_out; i++) items[i] = TN_NEW_ARRAY(e->arena, const tn_lit *, n);
  for (int64_t k = 0; k < n; k++) {
    for (int i = 0; i < e->n_in; i++) {
      const bool sequence = e->in[i]->kind == TN_TYPE_SEQUENCE;
      if (sequence && e->in[i]->n_items != n)
        return tn_eval_fail(e, TN_MISMATCH, "input %d has %lld items, input 0 %lld", i, (long long)e->in[i]->n_items,
                            (long long)n);
      params[i] = sequence ? e->in[i]->items[k] : e->in[i];
    }
    TN_TRY(tn_eval_region(e, 0, params, results));
    for (int i = 0; i < e->n_out; i++) items[i][k] = results[i];
  }
  for (int i = 0; i < e->n_out; i++) (void)sequence_lit(e, i, TN_TYPE_SEQUENCE, items[i], n);
  return TN_OK;
}
TN_OP(sequence_map){
    .name = "sequence_map",
    .in = {SEQUENCE_PORT(input_sequence),
           {"additional_inputs", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_ANY_KIND | TN_PORT_MIXED}},
    .out = {{"out_sequence", 0, NULL, TN_PORT_OPTIONAL | TN_PORT_VARIADIC | TN_PORT_SEQUENCE | TN_PORT_MIXED}},
    .attrs = {{"body", TN_ATTR_REGION}},
    .n_regions = 1,
    .type = sequence_no_type,
    .shape = sequence_map_shape,
    .eval = sequence_map_eval,
    .traits = TN_TRAIT_CONTROL,
    .sizes = TN_SIZES_OPEN,
    .accuracy = {TN_ACC_EXACT, 0},
    .doc = "a region run over the items of sequences",
};

/* clang-format off */
TN_ONNX(ai, SequenceEmpty, 11, TN_LATEST, sequence_empty, tn_import_same)
TN_ONNX(ai, SequenceConstruct, 11, TN_LATEST, sequence_construct, tn_import_same)
TN_ONNX(ai, SequenceInsert, 11, TN_LATEST, sequence_insert, tn_import_same)
TN_ONNX(ai, SequenceErase, 11, TN_LATEST, sequence_erase, tn_import_same)
TN_ONNX(ai, SequenceAt, 11, TN_LATEST, sequence_at, tn_import_same)
TN_ONNX(ai, SequenceLength, 11, TN_LATEST, sequence_length, tn_import_same)
TN_ONNX(ai, SplitToSequence, 11, TN_LATEST, split_to_sequence, tn_import_same)
TN_ONNX(ai, ConcatFromSequence, 11, TN_LATEST, concat_from_sequence, tn_import_same)
TN_ONNX(ai, Optional, 15, TN_LATEST, optional, tn_import_same)
TN_ONNX(ai, OptionalGetElement, 15, TN_LATEST, optional_get_element, tn_import_same)
TN_ONNX(ai, OptionalHasElement, 15, TN_LATEST, optional_has_element, tn_import_same)
TN_ONNX(ai, SequenceMap, 17, TN_LATEST, sequence_map, tn_import_same)
