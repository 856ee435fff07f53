/* Where the buffers of a region lie: sizes from the slots, then offsets. Buffers may also hold values of regions
 * inside; these find their places when they are entered. */
#include "rt/session.h"

static bool layout_slot_bytes(const tn_rt_session *s, const tn_pbuffer *b, size_t *out) {
  const int64_t bytes = s->slots[b->bytes - 1];
  return tn_align_size(bytes > 0 ? (size_t)bytes : 0, TN_RT_ALIGN, out);
}

/* A size that the program computes; -1 when it is none. */
static int64_t layout_count(const tn_rt_session *s, const tn_pvalue *x, uint32_t from, uint32_t to) {
  int64_t n = 1;
  for (uint32_t d = from; d < to; d++) {
    const int64_t dim = s->slots[s->p->dim_slots[x->dims.first + d]];
    if (dim < 0 || !tn_mul_i64(n, dim, &n)) return -1;
  }
  return n;
}

/* The parts of a step's result, one after the other. */
static tn_status layout_join(tn_rt_session *s, uint32_t step, bool *out_changed, tn_error *err) {
  const tn_program *p = s->p;
  const tn_pstep *t = &p->steps[step];
  const tn_pvalue *y = &p->values[p->operands[t->out.first]];
  const int64_t given = tn_k_int(&s->steps[step].call, "axis", 0), axis = given < 0 ? given + y->rank : given;
  const size_t size = (size_t)tn_dtype_bits((tn_dtype)y->dtype) / 8;
  const size_t begin = y->part ? s->parts[y->part - 1].at : 0;
  size_t at = begin;
  bool is_good = axis >= 0 && axis < y->rank && layout_count(s, y, 0, (uint32_t)axis) == 1;
  for (uint32_t i = t->in.first; is_good && i < t->in.first + t->in.n; i++) {
    const tn_pvalue *x = &p->values[p->operands[i]];
    const int64_t count = layout_count(s, x, 0, x->dims.n);
    tn_rt_part part = {.at = at};
    is_good = count >= 0 && tn_mul_size((size_t)count, size, &part.bytes) && tn_add_size(at, part.bytes, &at);
    *out_changed |= part.at != s->parts[i].at || part.bytes != s->parts[i].bytes;
    s->parts[i] = part;
  }
  const int64_t all = layout_count(s, y, 0, y->dims.n);
  size_t bytes;
  if (is_good && all >= 0 && tn_mul_size((size_t)all, size, &bytes) && bytes == at - begin) return TN_OK;
  return tn_error_set(err, TN_MISMATCH, "%s: what is joined does not make up '%s'", t->label, y->name);
}

static tn_status layout_sizes(tn_rt_session *s, uint32_t region, bool *out_changed, tn_error *err) {
  const tn_rt_region *r = &s->regions[region];
  const tn_pspan buffers = s->p->regions[region].buffers;
  for (uint32_t i = 0; i < r->buffer_values.n; i++) {
    bool changed;
    TN_TRY(tn_rt_dims(s, s->events[r->buffer_values.first + i], &changed, err));
    *out_changed |= changed;
  }
  for (uint32_t i = 0; i < r->joins.n; i++) TN_TRY(layout_join(s, s->joins[r->joins.first + i], out_changed, err));
  for (uint32_t i = buffers.first; i < buffers.first + buffers.n && !*out_changed; i++) {
    size_t bytes;
    *out_changed =
        s->p->buffers[i].bytes && (!layout_slot_bytes(s, &s->p->buffers[i], &bytes) || bytes != s->intervals[i].bytes);
  }
  return TN_OK;
}

/* A buffer of unstated size is as large as the largest value in it. */
static bool layout_buffer_bytes(tn_rt_session *s, uint32_t region) {
  const tn_rt_region *r = &s->regions[region];
  const tn_pspan buffers = s->p->regions[region].buffers;
  for (uint32_t i = buffers.first; i < buffers.first + buffers.n; i++) {
    s->intervals[i].bytes = 0;
    if (s->p->buffers[i].bytes && !layout_slot_bytes(s, &s->p->buffers[i], &s->intervals[i].bytes)) return false;
  }
  for (uint32_t i = 0; i < r->buffer_values.n; i++) {
    const uint32_t value = s->events[r->buffer_values.first + i], buffer = (uint32_t)s->p->values[value].index;
    size_t bytes;
    if (s->p->buffers[buffer].bytes) continue;
    if (!tn_dtype_bytes(s->args[value].dtype, s->args[value].count, &bytes) ||
        !tn_align_size(bytes, TN_RT_ALIGN, &bytes))
      return false;
    if (bytes > s->intervals[buffer].bytes) s->intervals[buffer].bytes = bytes;
  }
  return true;
}

static tn_status layout_no_memory(const tn_rt_session *s, uint32_t region, tn_error *err) {
  const tn_pspan buffers = s->p->regions[region].buffers;
  const char *name = "";
  size_t most = 0;
  for (uint32_t i = buffers.first; i < buffers.first + buffers.n; i++) {
    if (s->intervals[i].bytes <= most) continue;
    most = s->intervals[i].bytes;
    name = s->p->values[s->p->buffers[i].value].name;
  }
  return tn_error_set(err, TN_OOM, "no memory for buffers of %zu bytes (the largest is of value '%s', %zu bytes)",
                      s->regions[region].arena_bytes, name, most);
}

/* Offsets by ties, whatever the sizes; false when that wastes memory at these. */
static bool layout_by_ties(tn_rt_session *s, uint32_t region) {
  tn_rt_region *r = &s->regions[region];
  const tn_pspan buffers = s->p->regions[region].buffers;
  tn_interval_plan *const at = s->intervals + buffers.first;
  r->live_bytes = tn_plan_live(at, buffers.n, s->by_first + buffers.first, s->by_last + buffers.first);
  r->arena_bytes = tn_plan_evaluate(at, buffers.n);
  return tn_plan_is_tight(r->arena_bytes, r->live_bytes);
}

/* Offsets for the sizes; those of a shape that was bound before are known. */
static bool layout_offsets(tn_rt_session *s, uint32_t region) {
  tn_rt_region *r = &s->regions[region];
  const tn_pspan buffers = s->p->regions[region].buffers;
  tn_interval_plan *const at = s->intervals + buffers.first;
  size_t sum = 0;
  if (region == 0 && s->recall) {
    for (uint32_t i = 0; i < buffers.n; i++) at[i].offset = s->recall->offsets[i];
    r->arena_bytes = s->recall->arena_bytes;
    r->live_bytes = s->recall->live_bytes;
    return true;
  }
  for (uint32_t i = 0; i < buffers.n; i++)
    if (!tn_add_size(sum, at[i].bytes, &sum)) return false;
  if (s->p->regions[region].is_placed && layout_by_ties(s, region)) return true;
  const size_t by_ties = s->p->regions[region].is_placed ? r->arena_bytes : SIZE_MAX;
  if (!tn_plan_offsets(&s->planner, at, buffers.n, s->by_first + buffers.first, s->by_last + buffers.first,
                       &r->arena_bytes, &r->live_bytes))
    return false;
  if (by_ties < r->arena_bytes) (void)layout_by_ties(s, region);
  return true;
}

#ifdef TN_DEBUG
/* Do buffers that live together lie apart? Asked of few buffers, as all pairs are looked at. */
static bool layout_is_apart(const tn_rt_session *s, uint32_t region) {
  enum { FEW = 1024 };
  const tn_pspan buffers = s->p->regions[region].buffers;
  const tn_interval_plan *const at = s->intervals + buffers.first;
  for (uint32_t i = 0; i < buffers.n && buffers.n <= FEW; i++) {
    if (at[i].bytes && at[i].offset + at[i].bytes > s->regions[region].arena_bytes) return false;
    for (uint32_t j = 0; j < i; j++) {
      const bool together = at[i].first <= at[j].last && at[j].first <= at[i].last;
      if (together && at[i].bytes && at[j].bytes && at[i].offset < at[j].offset + at[j].bytes &&
          at[j].offset < at[i].offset + at[i].bytes)
        return false;
    }
  }
  return true;
}
#endif

static tn_status layout_place(tn_rt_session *s, uint32_t region, tn_error *err) {
  tn_rt_region *r = &s->regions[region];
  if (!layout_buffer_bytes(s, region) || !layout_offsets(s, region))
    return tn_error_set(err, TN_LIMIT, "the buffers are too large together");
#ifdef TN_DEBUG
  TN_ASSERT(layout_is_apart(s, region));
#endif
  if (!tn_rt_grow(s, &r->arena, r->arena_bytes, 0)) return layout_no_memory(s, region, err);
  for (uint32_t i = region + 1; i < s->p->n_regions; i++) s->regions[i].is_planned = false; /* may be inside */
  return TN_OK;
}

static tn_status layout_values(tn_rt_session *s, uint32_t region, tn_error *err) {
  const tn_rt_region *r = &s->regions[region];
  for (uint32_t i = 0; i < r->buffer_values.n; i++) {
    const uint32_t value = s->events[r->buffer_values.first + i], buffer = (uint32_t)s->p->values[value].index;
    const uint32_t part = s->p->values[value].part;
    const tn_rt_part all = {0, s->intervals[buffer].bytes}, place = part ? s->parts[part - 1] : all;
    size_t bytes;
    if (!tn_dtype_bytes(s->args[value].dtype, s->args[value].count, &bytes) || bytes > place.bytes)
      return tn_error_set(err, TN_MISMATCH, "value '%s' needs more than the %zu bytes of its buffer",
                          s->p->values[value].name, place.bytes);
    char *const arena = s->regions[s->p->buffers[buffer].region].arena.ptr;
    s->args[value].data = arena + s->intervals[buffer].offset + place.at;
  }
  return TN_OK;
}

tn_status tn_rt_layout(tn_rt_session *s, uint32_t region, tn_error *err) {
  tn_rt_region *r = &s->regions[region];
  bool changed = !r->is_planned;
  r->is_planned = false;
  TN_TRY(layout_sizes(s, region, &changed, err));
  if (changed) {
    TN_TRY(layout_place(s, region, err));
    TN_TRY(layout_values(s, region, err));
  }
  r->is_planned = true;
  return TN_OK;
}
