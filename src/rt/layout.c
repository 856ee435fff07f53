/* Where the buffers of a region lie: sizes from the slots, then offsets. */
#include "rt/session.h"

static tn_status layout_sizes(tn_rt_session *s, uint32_t region, bool *out_changed, tn_error *err) {
  const tn_rt_region *r = &s->regions[region];
  for (uint32_t i = 0; i < r->buffer_values.n; i++) {
    bool changed;
    TN_TRY(tn_rt_dims(s, s->events[r->buffer_values.first + i], &changed, err));
    *out_changed |= changed;
  }
  return TN_OK;
}

/* A buffer is as large as the largest value in it. */
static bool layout_buffer_bytes(tn_rt_session *s, uint32_t region) {
  const tn_rt_region *r = &s->regions[region];
  const tn_pspan buffers = s->p->regions[region].buffers;
  for (uint32_t i = buffers.first; i < buffers.first + buffers.n; i++) s->intervals[i].bytes = 0;
  for (uint32_t i = 0; i < r->buffer_values.n; i++) {
    const uint32_t value = s->events[r->buffer_values.first + i];
    size_t *have = &s->intervals[s->p->values[value].index].bytes, bytes;
    if (!tn_dtype_bytes(s->args[value].dtype, s->args[value].count, &bytes) ||
        !tn_align_size(bytes, TN_RT_ALIGN, &bytes))
      return false;
    if (bytes > *have) *have = bytes;
  }
  return true;
}

static tn_status layout_no_memory(const tn_rt_session *s, uint32_t region, tn_error *err) {
  const tn_rt_region *r = &s->regions[region];
  const char *name = "";
  size_t most = 0;
  for (uint32_t i = 0; i < r->buffer_values.n; i++) {
    const tn_pvalue *x = &s->p->values[s->events[r->buffer_values.first + i]];
    if (s->intervals[x->index].bytes <= most) continue;
    most = s->intervals[x->index].bytes;
    name = x->name;
  }
  return tn_error_set(err, TN_OOM, "no memory for buffers of %zu bytes (the largest is of value '%s', %zu bytes)",
                      r->arena_bytes, name, most);
}

/* Offsets for the sizes; those of a shape that was bound before are known. */
static bool layout_offsets(tn_rt_session *s, uint32_t region) {
  tn_rt_region *r = &s->regions[region];
  const tn_pspan buffers = s->p->regions[region].buffers;
  if (region != 0 || !s->recall)
    return tn_plan_offsets(&s->planner, s->intervals + buffers.first, buffers.n, s->by_first + buffers.first,
                           s->by_last + buffers.first, &r->arena_bytes, &r->live_bytes);
  for (uint32_t i = 0; i < buffers.n; i++) s->intervals[buffers.first + i].offset = s->recall->offsets[i];
  r->arena_bytes = s->recall->arena_bytes;
  r->live_bytes = s->recall->live_bytes;
  return true;
}

tn_status tn_rt_layout(tn_rt_session *s, uint32_t region, tn_error *err) {
  tn_rt_region *r = &s->regions[region];
  bool changed = !r->is_planned;
  r->is_planned = false;
  TN_TRY(layout_sizes(s, region, &changed, err));
  r->is_planned = !changed;
  if (!changed) return TN_OK;
  if (!layout_buffer_bytes(s, region) || !layout_offsets(s, region))
    return tn_error_set(err, TN_LIMIT, "the buffers are too large together");
  if (!tn_rt_grow(s, &r->arena, r->arena_bytes, 0)) return layout_no_memory(s, region, err);
  for (uint32_t i = 0; i < r->buffer_values.n; i++) {
    const uint32_t value = s->events[r->buffer_values.first + i];
    s->args[value].data = (char *)r->arena.ptr + s->intervals[s->p->values[value].index].offset;
  }
  r->is_planned = true;
  return TN_OK;
}
