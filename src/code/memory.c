/* Verification of a program's memory: values that share a buffer hold it one after the other, and buffers of a region
 * that is placed are tied so that those that live together lie apart, whatever their sizes. */
#include "base/sort.h"
#include "code/flow.h"

#define memory_fail(err, ...) tn_error_set((err), TN_INVALID, "program: " __VA_ARGS__)
#define MEMORY_NOBODY UINT32_MAX

/* The tick from which a value's buffer is written. The outs of an IF are its regions' results until it ends. */
static uint32_t memory_birth(const tn_program *p, const tn_flow *f, uint32_t value) {
  const uint32_t step = f->value_step[value];
  return p->steps[step].kind == TN_STEP_IF ? f->step_end[step] : f->step_begin[step];
}

typedef struct memory_order {
  const tn_program *p;
  const tn_flow *f;
} memory_order;

static bool memory_is_before(const void *arg, uint32_t x, uint32_t y) {
  const memory_order *o = arg;
  const uint32_t at_x = memory_birth(o->p, o->f, x), at_y = memory_birth(o->p, o->f, y);
  return at_x != at_y ? at_x < at_y : x < y;
}

/* The values in buffers, in order of birth. Returns how many there are. */
static uint32_t memory_births(const tn_program *p, const tn_flow *f) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->n_values; i++)
    if (p->values[i].store == TN_STORE_BUFFER && f->value_at[i] != TN_FLOW_NEVER) f->births[n++] = i;
  const memory_order order = {p, f};
  tn_sort_ids(f->births, n, memory_is_before, &order);
  return n;
}

static bool memory_reads(const tn_program *p, const tn_flow *f, const tn_pstep *s, uint32_t value) {
  for (uint32_t i = s->in.first; i < s->in.first + s->in.n; i++)
    if (p->operands[i] != TN_NO_INDEX && f->root[p->operands[i]] == value) return true;
  return false;
}

/* May `next` be written where `value` is? */
static bool memory_may_follow(const tn_program *p, const tn_flow *f, uint32_t value, uint32_t next) {
  const uint32_t birth = memory_birth(p, f, next);
  const tn_pstep *s = &p->steps[f->value_step[next]];
  if (memory_birth(p, f, value) >= birth) return false;
  if (f->value_last[value] < birth) return true;
  return f->value_last[value] == birth && s->kind == TN_STEP_KERNEL && !f->is_result[value] &&
         p->operands[s->out.first] == (int32_t)next && memory_reads(p, f, s, value);
}

static tn_status memory_values(const tn_program *p, const tn_flow *f, tn_error *err) {
  const uint32_t n = memory_births(p, f);
  for (uint32_t i = 0; i < p->n_buffers; i++) f->held_by[i] = MEMORY_NOBODY;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t v = f->births[i];
    uint32_t *const holder = &f->held_by[p->values[v].index];
    if (*holder != MEMORY_NOBODY && !memory_may_follow(p, f, *holder, v))
      return memory_fail(err, "value '%s' is written over '%s', which is still needed", p->values[v].name,
                         p->values[*holder].name);
    *holder = v;
  }
  return TN_OK;
}

/* A tie to a buffer of the same region, relative to its first. */
static bool memory_tie(tn_pspan buffers, int32_t tie, uint32_t *out) {
  *out = TN_PLAN_NONE;
  if (tie == TN_NO_INDEX) return true;
  if (tie < 0 || (uint32_t)tie < buffers.first || (uint32_t)tie - buffers.first >= buffers.n) return false;
  *out = (uint32_t)tie - buffers.first;
  return true;
}

static tn_status memory_region(const tn_program *p, const tn_flow *f, uint32_t region, tn_error *err) {
  const tn_pregion *r = &p->regions[region];
  const tn_pspan buffers = r->buffers;
  tn_interval_plan *const at = f->intervals + buffers.first;
  uint32_t wrong;
  for (uint32_t i = 0; i < buffers.n; i++) {
    const tn_pbuffer *b = &p->buffers[buffers.first + i];
    if (b->region != region) return memory_fail(err, "buffer %u is in two regions", buffers.first + i);
    at[i] = (tn_interval_plan){.first = b->first, .last = b->last, .under = TN_PLAN_NONE, .over = TN_PLAN_NONE};
    if (r->is_placed && (!memory_tie(buffers, b->under, &at[i].under) || !memory_tie(buffers, b->over, &at[i].over)))
      return memory_fail(err, "buffer %u is tied to what is not there", buffers.first + i);
  }
  tn_plan_sort(at, buffers.n, false, f->by_first + buffers.first);
  tn_plan_sort(at, buffers.n, true, f->by_last + buffers.first);
  if (r->is_placed &&
      !tn_plan_is_oriented(at, buffers.n, f->by_first + buffers.first, f->by_last + buffers.first, f->bits, &wrong))
    return memory_fail(err, "buffer %u is not kept apart from others", buffers.first + wrong);
  return TN_OK;
}

tn_status tn_flow_memory(const tn_program *p, tn_flow *f, tn_error *err) {
  for (uint32_t i = 0; i < p->n_regions; i++) TN_TRY(memory_region(p, f, i, err));
  return memory_values(p, f, err);
}
