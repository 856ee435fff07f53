/* From the operands of an entry to sizes and places: symbols, shape code, checks, buffers. */
#include <inttypes.h>
#include <stdio.h>

#include "rt/session.h"

enum { BIND_MAX_NEEDED = 64 };

static const char *bind_kind(const tn_rt_session *s, uint32_t value) {
  return s->p->values[value].store == TN_STORE_INPUT ? "input" : "value";
}

/* " (N=2, S=5)": the symbols that a slot of a segment is made of, "" when there are none. */
static const char *bind_symbols(const tn_rt_session *s, const tn_psegment *segment, uint32_t slot, char *out,
                                size_t size) {
  uint32_t needed[BIND_MAX_NEEDED] = {slot};
  int n = 1;
  size_t at = 0;
  for (uint32_t i = segment->code.n; i-- > 0;) {
    const tn_shape_ins *c = &s->p->code[segment->code.first + i];
    bool is_needed = false;
    for (int j = 0; j < n && !is_needed; j++) is_needed = c->op != TN_SHAPE_JUMPZ && needed[j] == c->dst;
    const uint32_t read[] = {c->a, c->b, tn_shape_rows[c->op].operands == 3 ? (uint32_t)c->imm : 0};
    for (int j = 0; is_needed && j < tn_shape_rows[c->op].operands && n < BIND_MAX_NEEDED; j++) needed[n++] = read[j];
  }
  out[0] = 0;
  for (uint32_t i = 0; i < s->p->n_symbols && at + 64 < size; i++) {
    bool is_needed = false;
    for (int j = 0; j < n && !is_needed; j++) is_needed = needed[j] == i;
    if (!is_needed) continue;
    const int wrote =
        snprintf(out + at, size - at, "%s%.40s=%" PRId64, at ? ", " : " (", s->p->symbols[i].name, s->slots[i]);
    at += wrote > 0 ? (size_t)wrote : 0;
  }
  if (at && at + 1 < size) memcpy(out + at, ")", 2);
  return out;
}

static const tn_psegment *bind_segment_of(const tn_rt_session *s, uint32_t region) {
  return &s->p->segments[s->p->regions[region].segment];
}

/* "input 'a' dim 0" */
static void bind_place(const tn_rt_session *s, const tn_pbind *b, char *out, size_t size) {
  const int n = snprintf(out, size, "%s '%.200s' %s %" PRId64, bind_kind(s, b->value), s->p->values[b->value].name,
                         b->is_elem ? "element" : "dim", b->index);
  if (n < 0) out[0] = 0;
}

static tn_status bind_read_element(const tn_karg *a, const tn_pbind *b, int64_t *out, const char *place,
                                   tn_error *err) {
  if (b->index >= a->count)
    return tn_error_set(err, TN_MISMATCH, "%s is needed, but there are %" PRId64, place, a->count);
  if (tn_dtype_is_float(a->dtype)) {
    const double v = tn_load_f64(a->dtype, a->data, b->index);
    if (!(v >= -0x1p53 && v <= 0x1p53) || v != (double)(int64_t)v)
      return tn_error_set(err, TN_MISMATCH, "%s is %g, but must be an integer", place, v);
    *out = (int64_t)v;
    return TN_OK;
  }
  *out = tn_load_i64(a->dtype, a->data, b->index);
  return TN_OK;
}

static tn_status bind_read(const tn_rt_session *s, const tn_pbind *b, int64_t *out, tn_error *err) {
  const tn_karg *a = &s->args[b->value];
  if (!b->is_elem && b->index < a->rank) {
    *out = a->dims[b->index];
    return TN_OK;
  }
  char place[256];
  bind_place(s, b, place, sizeof place);
  if (b->is_elem) return bind_read_element(a, b, out, place, err);
  return tn_error_set(err, TN_MISMATCH, "%s is needed, but the rank is %d", place, a->rank);
}

/* Where the number of a slot came from. */
static void bind_origin(const tn_rt_session *s, uint32_t slot, char *out, size_t size) {
  memcpy(out, "computed", 9);
  if (slot < s->p->n_symbols && s->is_given[slot]) memcpy(out, "set by the caller", 18);
  for (uint32_t i = 0; i < s->p->n_binds; i++)
    if (s->p->binds[i].slot == slot && !s->flow.bind_checks[i]) {
      bind_place(s, &s->p->binds[i], out, size);
      return;
    }
}

static tn_status bind_disagree(const tn_rt_session *s, const tn_pbind *b, int64_t v, bool is_given, tn_error *err) {
  char place[256], origin[256];
  bind_place(s, b, place, sizeof place);
  const char *name = b->slot < s->p->n_symbols ? s->p->symbols[b->slot].name : "its size";
  if (is_given)
    return tn_error_set(err, TN_MISMATCH, "%s is %" PRId64 ", but %s was set to %" PRId64, place, v, name,
                        s->given[b->slot]);
  bind_origin(s, b->slot, origin, sizeof origin);
  return tn_error_set(err, TN_MISMATCH, "%s is %" PRId64 ", but %s is %" PRId64 " (%s)", place, v, name,
                      s->slots[b->slot], origin);
}

static tn_status bind_symbol_range(const tn_psymbol *y, int64_t v, const char *place, tn_error *err) {
  if (v < y->min)
    return tn_error_set(err, TN_MISMATCH, "%s is %" PRId64 ", but %s must be at least %" PRId64, place, v, y->name,
                        y->min);
  if (v > y->max)
    return tn_error_set(err, TN_MISMATCH, "%s is %" PRId64 ", but %s must be at most %" PRId64, place, v, y->name,
                        y->max);
  if (v % y->multiple_of != 0)
    return tn_error_set(err, TN_MISMATCH, "%s is %" PRId64 ", but %s must be a multiple of %" PRId64, place, v, y->name,
                        y->multiple_of);
  return TN_OK;
}

static tn_status bind_one(tn_rt_session *s, uint32_t i, tn_error *err) {
  const tn_pbind *b = &s->p->binds[i];
  int64_t v = 0;
  TN_TRY(bind_read(s, b, &v, err));
  const bool is_symbol = b->slot < s->p->n_symbols;
  if (s->flow.bind_checks[i]) return v == s->slots[b->slot] ? TN_OK : bind_disagree(s, b, v, false, err);
  if (is_symbol && s->is_given[b->slot] && v != s->given[b->slot] && !s->gear.is_padded)
    return bind_disagree(s, b, v, true, err);
  s->slots[b->slot] = v;
  if (!is_symbol) return TN_OK;
  const tn_psymbol *y = &s->p->symbols[b->slot];
  if (v >= y->min && v <= y->max && v % y->multiple_of == 0) return TN_OK;
  char place[256];
  bind_place(s, b, place, sizeof place);
  return bind_symbol_range(y, v, place, err);
}

static tn_status bind_check(const tn_rt_session *s, const tn_psegment *g, const tn_pcheck *c, tn_error *err) {
  char symbols[300];
  if (s->slots[c->slot]) return TN_OK;
  return tn_error_set(err, TN_MISMATCH, "%s%s", c->text, bind_symbols(s, g, c->slot, symbols, sizeof symbols));
}

/* "value 'y'": the first value whose dims or content come from a slot, by way of the code behind `at`; else `none`. */
static const char *bind_user(const tn_rt_session *s, const tn_psegment *g, uint32_t at, const char *none, char *out,
                             size_t size) {
  uint32_t touched[BIND_MAX_NEEDED] = {s->p->code[g->code.first + at].dst};
  int n = 1;
  for (uint32_t i = at + 1; i < g->code.n && n < BIND_MAX_NEEDED; i++) {
    const tn_shape_ins *c = &s->p->code[g->code.first + i];
    const uint32_t read[] = {c->a, c->b, tn_shape_rows[c->op].operands == 3 ? (uint32_t)c->imm : 0};
    bool is_touched = false;
    for (int j = 0; j < tn_shape_rows[c->op].operands; j++)
      for (int k = 0; k < n; k++) is_touched |= touched[k] == read[j];
    if (is_touched && c->op != TN_SHAPE_JUMPZ) touched[n++] = c->dst;
  }
  for (uint32_t v = 0; v < s->p->n_values; v++) {
    const tn_pvalue *x = &s->p->values[v];
    for (uint32_t d = 0; d < x->dims.n + x->shape_elems.n; d++) {
      const uint32_t place = d < x->dims.n ? x->dims.first + d : x->shape_elems.first + d - x->dims.n;
      for (int k = 0; k < n; k++) {
        if (s->p->dim_slots[place] != touched[k]) continue;
        snprintf(out, size, "%s '%.100s': ", bind_kind(s, v), x->name);
        return out;
      }
    }
  }
  return none;
}

/* Shape code stopped at an instruction. A check of what came before it says more than the arithmetic does. */
static tn_status bind_stopped(const tn_rt_session *s, const tn_psegment *g, uint32_t at, tn_status status,
                              tn_error *err) {
  char symbols[300], user[160];
  for (uint32_t i = 0; i < g->checks.n; i++) {
    const tn_pcheck *c = &s->p->checks[g->checks.first + i];
    for (uint32_t j = 0; j < at; j++) {
      const tn_shape_ins *ins = &s->p->code[g->code.first + j];
      if (ins->op != TN_SHAPE_JUMPZ && ins->dst == c->slot) TN_TRY(bind_check(s, g, c, err));
    }
  }
  const uint32_t slot = s->p->code[g->code.first + at].dst;
  bind_symbols(s, g, slot, symbols, sizeof symbols);
  const char *const place = bind_user(s, g, at, "", user, sizeof user);
  if (status == TN_INVALID) return tn_error_set(err, TN_MISMATCH, "%sa size is divided by zero%s", place, symbols);
  return tn_error_set(err, TN_LIMIT, "%sa size is beyond 64 bits%s", place, symbols);
}

tn_status tn_rt_segment(tn_rt_session *s, uint32_t segment, tn_error *err) {
  const tn_psegment *g = &s->p->segments[segment];
  uint32_t at = 0;
  for (uint32_t i = 0; i < g->binds.n; i++) TN_TRY(bind_one(s, g->binds.first + i, err));
  const tn_status status = tn_shape_run(s->p->code + g->code.first, g->code.n, s->slots, &at);
  if (TN_UNLIKELY(status != TN_OK)) return bind_stopped(s, g, at, status, err);
  for (uint32_t i = 0; i < g->checks.n; i++) TN_TRY(bind_check(s, g, &s->p->checks[g->checks.first + i], err));
  return TN_OK;
}

tn_status tn_rt_dims(tn_rt_session *s, uint32_t value, bool *out_changed, tn_error *err) {
  const tn_pvalue *x = &s->p->values[value];
  tn_karg *a = &s->args[value];
  const uint32_t *slots = s->p->dim_slots + x->dims.first;
  bool changed = a->rank != x->rank;
  char symbols[300];
  for (int d = 0; d < x->rank; d++) {
    const int64_t v = s->slots[slots[d]];
    changed |= a->dims[d] != v;
    a->dims[d] = v;
  }
  *out_changed = changed;
  if (!changed) return TN_OK;
  a->rank = -1; /* not complete before all is checked */
  for (int d = 0; d < x->rank; d++)
    if (a->dims[d] < 0)
      return tn_error_set(err, TN_MISMATCH, "%s '%s' dim %d would be %" PRId64 "%s", bind_kind(s, value), x->name, d,
                          a->dims[d],
                          bind_symbols(s, bind_segment_of(s, x->region), slots[d], symbols, sizeof symbols));
  size_t bytes;
  if (!tn_dims_count(a->dims, x->rank, &a->count) || !tn_dtype_bytes(a->dtype, a->count, &bytes))
    return tn_error_set(err, TN_LIMIT, "%s '%s' is too large", bind_kind(s, value), x->name);
  a->rank = x->rank;
  return TN_OK;
}

/* A view of some elements of its source that lie together. */
static tn_status bind_part(tn_rt_session *s, uint32_t value, tn_error *err) {
  const tn_pvalue *x = &s->p->values[value];
  const tn_karg *src = &s->args[x->index];
  tn_karg *a = &s->args[value];
  const int64_t first = s->slots[x->part - 1];
  if (first < 0 || first > src->count || a->count > src->count - first)
    return tn_error_set(err, TN_MISMATCH,
                        "value '%s' has elements %" PRId64 " to %" PRId64 " of '%s', which has %" PRId64, x->name,
                        first, a->count + first, s->p->values[x->index].name, src->count);
  a->data = (char *)src->data + first * (tn_dtype_bits(a->dtype) / 8);
  a->is_const = src->is_const;
  return TN_OK;
}

static tn_status bind_view(tn_rt_session *s, uint32_t value, tn_error *err) {
  const tn_pvalue *x = &s->p->values[value];
  const tn_karg *src = &s->args[x->index];
  tn_karg *a = &s->args[value];
  size_t bytes = 0, src_bytes = 0;
  bool changed;
  if (tn_rt_is_sized(x)) {
    TN_TRY(tn_rt_dims(s, value, &changed, err));
  } else {
    a->rank = src->rank;
    a->count = src->count;
    memcpy(a->dims, src->dims, sizeof a->dims);
  }
  if (x->part) return bind_part(s, value, err);
  const bool sized = tn_dtype_bytes(a->dtype, a->count, &bytes) && tn_dtype_bytes(src->dtype, src->count, &src_bytes);
  if (!sized || bytes != src_bytes)
    return tn_error_set(err, TN_MISMATCH,
                        "value '%s' has %" PRId64 " elements, but '%s', whose data it shares, has %" PRId64, x->name,
                        a->count, s->p->values[x->index].name, src->count);
  a->data = src->data;
  a->is_const = src->is_const;
  return TN_OK;
}

static tn_status bind_shape(tn_rt_session *s, uint32_t value, tn_error *err) {
  const tn_pvalue *x = &s->p->values[value];
  tn_karg *a = &s->args[value];
  bool changed;
  TN_TRY(tn_rt_dims(s, value, &changed, err));
  if (a->count != x->shape_elems.n)
    return tn_error_set(err, TN_MISMATCH, "value '%s' has %u elements, but its dims say %" PRId64, x->name,
                        x->shape_elems.n, a->count);
  a->data = s->blocks[value].ptr;
  for (uint32_t i = 0; i < x->shape_elems.n; i++)
    tn_store_i64(a->dtype, a->data, i, s->slots[s->p->dim_slots[x->shape_elems.first + i]]);
  return TN_OK;
}

static tn_status bind_late(tn_rt_session *s, uint32_t value, tn_error *err) {
  bool changed;
  TN_TRY(tn_rt_dims(s, value, &changed, err));
  return tn_rt_reserve(s, &s->args[value], &s->blocks[value], 0, err);
}

tn_status tn_rt_resolve_value(tn_rt_session *s, uint32_t value, tn_error *err) {
  switch ((tn_pstore)s->p->values[value].store) {
    case TN_STORE_VIEW:
      return bind_view(s, value, err);
    case TN_STORE_SHAPE:
      return bind_shape(s, value, err);
    case TN_STORE_LATE:
      return bind_late(s, value, err);
    case TN_STORE_INPUT:
    case TN_STORE_PARAM:
    case TN_STORE_CONST:
    case TN_STORE_BUFFER:
      break;
  }
  return TN_OK;
}

tn_status tn_rt_resolve(tn_rt_session *s, tn_pspan events, tn_error *err) {
  for (uint32_t i = 0; i < events.n; i++) TN_TRY(tn_rt_resolve_value(s, s->events[events.first + i], err));
  return TN_OK;
}

/* Do the parameters of a region have the sizes that its code computes with? */
static tn_status bind_check_params(const tn_rt_session *s, uint32_t region, tn_error *err) {
  const tn_pspan params = s->p->regions[region].params;
  const uint32_t n = region == 0 ? s->p->n_inputs : params.n;
  char symbols[300];
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t value = region == 0 ? s->p->inputs[i].value : (uint32_t)s->p->operands[params.first + i];
    const tn_pvalue *x = &s->p->values[value];
    for (uint32_t d = 0; d < x->dims.n; d++) {
      const uint32_t slot = s->p->dim_slots[x->dims.first + d];
      if (s->args[value].dims[d] == s->slots[slot]) continue;
      return tn_error_set(err, TN_MISMATCH, "%s '%s' dim %u is %" PRId64 ", expected %" PRId64 "%s",
                          bind_kind(s, value), x->name, d, s->args[value].dims[d], s->slots[slot],
                          bind_symbols(s, bind_segment_of(s, region), slot, symbols, sizeof symbols));
    }
  }
  return TN_OK;
}

tn_status tn_rt_enter(tn_rt_session *s, uint32_t region, tn_error *err) {
  if (region != 0 || !s->recall) {
    TN_TRY(tn_rt_segment(s, s->p->regions[region].segment, err));
    TN_TRY(bind_check_params(s, region, err));
  }
  return tn_rt_layout(s, region, err);
}

bool tn_rt_elements_changed(tn_rt_session *s) {
  const tn_psegment *g = bind_segment_of(s, 0);
  tn_error *ignored = tn_rt_inner_error(s);
  for (uint32_t i = 0; i < g->binds.n; i++) {
    const tn_pbind *b = &s->p->binds[g->binds.first + i];
    int64_t v;
    if (b->is_elem && (bind_read(s, b, &v, ignored) != TN_OK || v != s->slots[b->slot])) return true;
  }
  return false;
}

static tn_status bind_symbols_given(tn_rt_session *s, tn_error *err) {
  for (uint32_t i = 0; i < s->p->n_symbols; i++) {
    if (!s->flow.slot_is_free[i]) continue;
    const tn_psymbol *y = &s->p->symbols[i];
    if (!s->is_given[i]) return tn_error_set(err, TN_MISMATCH, "no input gives symbol '%s': it must be set", y->name);
    TN_TRY(bind_symbol_range(y, s->given[i], y->name, err));
    s->slots[i] = s->given[i];
  }
  return TN_OK;
}

tn_status tn_rt_bind_main(tn_rt_session *s, tn_error *err) {
  tn_rt_recall(s);
  if (!s->recall) TN_TRY(bind_symbols_given(s, err));
  TN_TRY(tn_rt_enter(s, 0, err));
  TN_TRY(tn_rt_move_buffers(s, err));
  TN_TRY(tn_rt_resolve(s, s->regions[0].entry, err));
  if (s->recall)
    s->bind_hits++;
  else
    tn_rt_keep(s);
  s->recall = NULL;
  s->binds++;
  return TN_OK;
}
