/* Verification of a program's memory: values that share a place hold it one after the other, and buffers of a region
 * that is placed are tied so that those that live together lie apart, whatever their sizes.
 *
 * A place is a buffer, or the part of it where the result of a step has one of its operands: place b is buffer b, place
 * n_buffers + i is that of entry i of the operands. Parts of one step lie apart; a part lies in the place of the step's
 * result and overlaps what is above it (the places that it is in) and below it (the parts in it). */
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

/* May `next` be written where `value` is, at the same place? */
static bool memory_may_follow(const tn_program *p, const tn_flow *f, uint32_t value, uint32_t next) {
  const uint32_t birth = memory_birth(p, f, next);
  const tn_pstep *s = &p->steps[f->value_step[next]];
  if (memory_birth(p, f, value) >= birth) return false;
  if (f->value_last[value] < birth) return true;
  return f->value_last[value] == birth && s->kind == TN_STEP_KERNEL && !f->is_result[value] &&
         p->operands[s->out.first] == (int32_t)next && memory_reads(p, f, s, value);
}

/* The last tick at which a value is written or read. */
static uint32_t memory_end(const tn_flow *f, uint32_t value) {
  const uint32_t written = f->step_end[f->value_step[value]];
  return f->value_last[value] > written ? f->value_last[value] : written;
}

static uint32_t memory_place(const tn_program *p, uint32_t value) {
  const tn_pvalue *x = &p->values[value];
  return x->part ? p->n_buffers + x->part - 1 : (uint32_t)x->index;
}

static uint32_t memory_joiner(const tn_program *p, const tn_flow *f, uint32_t place) {
  return f->operand_step[place - p->n_buffers] - 1;
}

/* The place that a part is in. */
static uint32_t memory_above(const tn_program *p, const tn_flow *f, uint32_t place) {
  const tn_pstep *s = &p->steps[memory_joiner(p, f, place)];
  return memory_place(p, (uint32_t)p->operands[s->out.first]);
}

static tn_status memory_over(const tn_program *p, uint32_t value, uint32_t over, tn_error *err) {
  if (over == MEMORY_NOBODY)
    return memory_fail(err, "value '%s' is written over parts that are still needed", p->values[value].name);
  return memory_fail(err, "value '%s' is written over '%s', which is still needed", p->values[value].name,
                     p->values[over].name);
}

/* The places above a value's: one step joins in each, and nobody needs what they hold as a whole. */
static tn_status memory_look_up(const tn_program *p, const tn_flow *f, uint32_t value, uint32_t birth, tn_error *err) {
  uint32_t place = memory_place(p, value);
  for (int depth = 0; place >= p->n_buffers; depth++) {
    const uint32_t step = memory_joiner(p, f, place), above = memory_above(p, f, place), holder = f->held_by[above];
    if (depth >= TN_PROGRAM_MAX_JOINS)
      return memory_fail(err, "value '%s' is too many parts deep", p->values[value].name);
    if (f->joined_by[above] && f->joined_by[above] != step + 1)
      return memory_fail(err, "value '%s' is part of what another step joins", p->values[value].name);
    f->joined_by[above] = step + 1;
    if (holder != MEMORY_NOBODY && memory_end(f, holder) >= birth) return memory_over(p, value, holder, err);
    place = above;
  }
  return TN_OK;
}

/* The places below that of a step's first out: each holds the operand that belongs there, or nothing that is needed. */
static tn_status memory_join(const tn_program *p, const tn_flow *f, const tn_pstep *s, uint32_t birth, tn_error *err) {
  const uint32_t value = (uint32_t)p->operands[s->out.first];
  for (uint32_t i = s->in.first; i < s->in.first + s->in.n; i++) {
    const uint32_t place = p->n_buffers + i, holder = f->held_by[place], operand = (uint32_t)p->operands[i];
    if (holder != MEMORY_NOBODY && f->root[operand] == holder && !f->is_part[operand]) continue;
    if (holder != MEMORY_NOBODY && memory_end(f, holder) >= birth) return memory_over(p, value, holder, err);
    if (f->below_last[place] > birth) return memory_over(p, value, MEMORY_NOBODY, err);
  }
  return TN_OK;
}

static tn_status memory_look_down(const tn_program *p, const tn_flow *f, uint32_t value, uint32_t birth,
                                  tn_error *err) {
  const uint32_t place = memory_place(p, value), step = f->value_step[value];
  const tn_pstep *s = &p->steps[step];
  if (f->joined_by[place] == step + 1 && p->operands[s->out.first] == (int32_t)value)
    return memory_join(p, f, s, birth, err);
  return f->below_last[place] > birth ? memory_over(p, value, MEMORY_NOBODY, err) : TN_OK;
}

static void memory_hold(const tn_program *p, const tn_flow *f, uint32_t value) {
  const uint32_t end = memory_end(f, value) + 1;
  uint32_t place = memory_place(p, value);
  f->held_by[place] = value;
  while (place >= p->n_buffers) {
    place = memory_above(p, f, place);
    if (f->below_last[place] < end) f->below_last[place] = end;
  }
}

static tn_status memory_values(const tn_program *p, const tn_flow *f, tn_error *err) {
  const uint32_t n = memory_births(p, f);
  for (uint32_t i = 0; i < p->n_buffers + p->n_operands; i++) f->held_by[i] = MEMORY_NOBODY;
  for (uint32_t i = 0; i < n; i++) {
    const uint32_t v = f->births[i], birth = memory_birth(p, f, v), holder = f->held_by[memory_place(p, v)];
    if (holder != MEMORY_NOBODY && !memory_may_follow(p, f, holder, v)) return memory_over(p, v, holder, err);
    TN_TRY(memory_look_up(p, f, v, birth, err));
    TN_TRY(memory_look_down(p, f, v, birth, err));
    memory_hold(p, f, v);
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
