/* Results of bodies that are made where they are wanted: the next state of a loop in the memory that the last but one
 * was in, an element of a stacked result where it is stacked, the last state in the result of the step. The buffer of
 * such a value is moved there before the body runs; all values in it have to be of that body. */
#include "rt/session.h"

void tn_rt_aims_init(tn_rt_session *s) {
  const tn_program *p = s->p;
  for (uint32_t b = 0; b < p->n_buffers; b++) s->aims[b].is_movable = true;
  for (uint32_t v = p->n_values; v-- > 0;) {
    const tn_pvalue *x = &p->values[v];
    if (x->store != TN_STORE_BUFFER) continue;
    tn_rt_aim_of *a = &s->aims[x->index];
    s->next_in_buffer[v] = a->first;
    if (a->first && p->values[a->first - 1].region != x->region) a->is_movable = false;
    if (x->dtype == TN_STR) a->is_movable = false;
    a->first = v + 1;
  }
}

/* The buffer that has the result's bytes at its beginning and may be moved; NULL when there is none. */
static tn_rt_aim_of *aim_of(const tn_rt_session *s, uint32_t region, uint32_t value) {
  const uint32_t root = s->flow.root[value];
  const tn_pvalue *x = &s->p->values[root];
  if (x->store != TN_STORE_BUFFER || x->region != region || x->part || s->flow.is_part[value]) return NULL;
  tn_rt_aim_of *a = &s->aims[x->index];
  return a->is_movable ? a : NULL;
}

static size_t aim_offset(const tn_rt_session *s, uint32_t value) {
  const uint32_t part = s->p->values[value].part;
  return part ? s->parts[part - 1].at : 0;
}

static bool aim_fits(const tn_rt_session *s, const tn_rt_aim_of *a, size_t bytes) {
  for (uint32_t v = a->first; v; v = s->next_in_buffer[v - 1]) {
    const size_t at = aim_offset(s, v - 1);
    size_t size;
    if (!tn_dtype_bytes(s->args[v - 1].dtype, s->args[v - 1].count, &size) || at > bytes || size > bytes - at)
      return false;
  }
  return true;
}

bool tn_rt_aim(tn_rt_session *s, uint32_t region, uint32_t value, void *to, size_t bytes) {
  tn_rt_aim_of *a = aim_of(s, region, value);
  if (!a || a->run == s->regions[region].run) return false;
  const uint32_t root = s->flow.root[value], buffer = (uint32_t)s->p->values[root].index;
  char *place = (char *)s->regions[s->p->buffers[buffer].region].arena.ptr + s->intervals[buffer].offset;
  size_t size;
  const bool fits = to && tn_dtype_bytes(s->args[root].dtype, s->args[root].count, &size) && size == bytes &&
                    bytes > 0 && aim_fits(s, a, bytes);
  if (fits) {
    place = to;
    a->run = s->regions[region].run;
  }
  if (s->args[root].data == place) return fits;
  for (uint32_t v = a->first; v; v = s->next_in_buffer[v - 1]) s->args[v - 1].data = place + aim_offset(s, v - 1);
  return fits;
}

bool tn_rt_can_aim(const tn_rt_session *s, uint32_t region, uint32_t value) {
  const tn_rt_aim_of *a = aim_of(s, region, value);
  return a && a->run != s->regions[region].run;
}

bool tn_rt_is_aimed(const tn_rt_session *s, uint32_t region, uint32_t value) {
  const tn_rt_aim_of *a = aim_of(s, region, value);
  return a && a->run == s->regions[region].run;
}
