/* Verification of a program's order: walks the regions as running does and proves that everything exists before it is
 * used, once, in a buffer that lives long enough.
 *
 * A position is a step of a region: at position k the results of steps 0..k-1 exist. current[r] is the position of a
 * region that is being walked, -1 for the others; so "value v exists here" is value_at[v] <= current[its region]. */
#include "code/flow.h"

enum { FLOW_MAX_DEPTH = 64 };
#define FLOW_NO_SLOT UINT32_MAX
#define FLOW_NO_REGION UINT32_MAX
#define FLOW_NO_TICK UINT32_MAX
enum { FLOW_HOLDS_NOTHING, FLOW_HOLDS_STRINGS, FLOW_HOLDS_DATA };

typedef struct walker {
  const tn_program *p;
  tn_flow *f;
  tn_error *err;
} walker;

#define flow_fail(w, ...) tn_error_set((w)->err, TN_INVALID, "program: " __VA_ARGS__)

/* Carves an array out of `*at` (or only counts when base is NULL). */
static void *flow_carve(void *base, size_t *at, size_t n, size_t size, bool *ok) {
  size_t bytes, start = *at;
  if (!tn_mul_size(n, size, &bytes) || !tn_add_size(start, bytes, at) || !tn_align_size(*at, 8, at)) *ok = false;
  return base ? (char *)base + start : NULL;
}

static bool flow_layout(tn_flow *f, const tn_program *p, void *base, size_t *out_bytes) {
  bool ok = true;
  size_t at = 0;
#define FLOW_ARRAY(field, n) f->field = flow_carve(base, &at, (n), sizeof f->field[0], &ok)
  FLOW_ARRAY(slot_const, p->n_slots);
  FLOW_ARRAY(current, p->n_regions);
  FLOW_ARRAY(intervals, p->n_buffers);
  FLOW_ARRAY(bits, tn_plan_bits(p->n_buffers));
  FLOW_ARRAY(by_first, p->n_buffers);
  FLOW_ARRAY(by_last, p->n_buffers);
  FLOW_ARRAY(step_begin, p->n_steps);
  FLOW_ARRAY(step_end, p->n_steps);
  FLOW_ARRAY(step_region, p->n_steps);
  FLOW_ARRAY(region_end, p->n_regions);
  FLOW_ARRAY(value_last, p->n_values);
  FLOW_ARRAY(value_step, p->n_values);
  FLOW_ARRAY(births, p->n_values);
  FLOW_ARRAY(held_by, (size_t)p->n_buffers + p->n_operands);
  FLOW_ARRAY(below_last, (size_t)p->n_buffers + p->n_operands);
  FLOW_ARRAY(joined_by, (size_t)p->n_buffers + p->n_operands);
  FLOW_ARRAY(operand_step, p->n_operands);
  FLOW_ARRAY(value_at, p->n_values);
  FLOW_ARRAY(root, p->n_values);
  FLOW_ARRAY(slot_at, p->n_slots);
  FLOW_ARRAY(slot_region, p->n_slots);
  FLOW_ARRAY(slot_next, p->n_slots);
  FLOW_ARRAY(slot_writers, p->n_slots);
  FLOW_ARRAY(bind_checks, p->n_binds);
  FLOW_ARRAY(slot_is_const, p->n_slots);
  FLOW_ARRAY(slot_is_free, p->n_slots);
  FLOW_ARRAY(slot_known, p->n_slots);
  FLOW_ARRAY(owned_binds, p->n_binds);
  FLOW_ARRAY(owned_code, p->n_code);
  FLOW_ARRAY(owned_checks, p->n_checks);
  FLOW_ARRAY(owned_segments, p->n_segments);
  FLOW_ARRAY(owned_steps, p->n_steps);
  FLOW_ARRAY(owned_buffers, p->n_buffers);
  FLOW_ARRAY(buffer_holds, p->n_buffers);
  FLOW_ARRAY(is_result, p->n_values);
  FLOW_ARRAY(is_part, p->n_values);
  FLOW_ARRAY(step_joins, p->n_steps);
#undef FLOW_ARRAY
  *out_bytes = at;
  return ok;
}

bool tn_flow_bytes(const tn_program *p, size_t *out) {
  tn_flow f;
  if (p->n_operands > UINT32_MAX - p->n_buffers) return false; /* places are numbered in 32 bits */
  return flow_layout(&f, p, NULL, out);
}

void tn_flow_init(tn_flow *f, const tn_program *p, void *memory) {
  size_t bytes;
  const bool ok = flow_layout(f, p, memory, &bytes);
  TN_ASSERT(ok);
  (void)ok;
}

static bool flow_own(uint8_t *owned, tn_pspan span) {
  for (uint32_t i = span.first; i < span.first + span.n; i++) {
    if (owned[i]) return false;
    owned[i] = 1;
  }
  return true;
}

static bool flow_has_slot(const walker *w, uint32_t slot) {
  const tn_flow *f = w->f;
  if (f->slot_is_free[slot]) return true;
  if (!f->slot_known[slot]) return false;
  const int64_t now = f->current[f->slot_region[slot]];
  return now >= 0 && f->slot_at[slot] <= now;
}

static bool flow_has_value(const walker *w, uint32_t value) {
  const int64_t now = w->f->current[w->p->values[value].region];
  return now >= 0 && w->f->value_at[value] <= now;
}

/* Which slots a region wrote, as a list, so that leaving the region can forget them. */
typedef struct flow_writes {
  uint32_t region, first_slot;
} flow_writes;

static tn_status flow_write(const walker *w, flow_writes *writes, uint32_t slot) {
  tn_flow *f = w->f;
  if (f->slot_known[slot]) return flow_fail(w, "slot %u is written twice", slot);
  f->slot_known[slot] = 1;
  f->slot_region[slot] = writes->region;
  f->slot_at[slot] = (uint32_t)f->current[writes->region];
  f->slot_next[slot] = writes->first_slot;
  writes->first_slot = slot;
  return TN_OK;
}

static bool flow_bind_reads(const walker *w, uint32_t value) {
  const uint8_t store = w->p->values[value].store;
  const bool in_time = store == TN_STORE_INPUT || store == TN_STORE_PARAM || store == TN_STORE_CONST ||
                       store == TN_STORE_BUFFER || store == TN_STORE_LATE || store == TN_STORE_VIEW;
  return in_time && flow_has_value(w, value);
}

static tn_status flow_code(const walker *w, tn_pspan code, flow_writes *writes) {
  for (uint32_t i = 0; i < code.n; i++) {
    const tn_shape_ins *c = &w->p->code[code.first + i];
    const uint32_t read[3] = {c->a, c->b, tn_shape_rows[c->op].operands == 3 ? (uint32_t)c->imm : 0};
    for (int j = 0; j < 3 && j < tn_shape_rows[c->op].operands; j++)
      if (!flow_has_slot(w, read[j]))
        return flow_fail(w, "instruction %u reads slot %u too early", code.first + i, read[j]);
    if (c->op != TN_SHAPE_JUMPZ) {
      TN_TRY(flow_write(w, writes, c->dst));
    } else if (c->imm < 0 || c->imm >= code.n - i) {
      return flow_fail(w, "instruction %u jumps out of its segment", code.first + i);
    }
  }
  return TN_OK;
}

static tn_status flow_segment(const walker *w, uint32_t segment, flow_writes *writes) {
  const tn_program *p = w->p;
  const tn_psegment *s = &p->segments[segment];
  if (w->f->owned_segments[segment]++) return flow_fail(w, "segment %u has two owners", segment);
  if (!flow_own(w->f->owned_binds, s->binds) || !flow_own(w->f->owned_code, s->code) ||
      !flow_own(w->f->owned_checks, s->checks))
    return flow_fail(w, "segment %u shares with another", segment);
  for (uint32_t i = s->binds.first; i < s->binds.first + s->binds.n; i++) {
    const tn_pbind *b = &p->binds[i];
    if (!flow_bind_reads(w, b->value)) return flow_fail(w, "bind %u reads a value that is not there yet", i);
    w->f->bind_checks[i] = flow_has_slot(w, b->slot);
    if (!w->f->bind_checks[i]) TN_TRY(flow_write(w, writes, b->slot));
  }
  TN_TRY(flow_code(w, s->code, writes));
  for (uint32_t i = s->checks.first; i < s->checks.first + s->checks.n; i++)
    if (!flow_has_slot(w, p->checks[i].slot)) return flow_fail(w, "check %u reads a slot too early", i);
  return TN_OK;
}

/* The outs of step k of the region exist from position k + 1. */
static tn_status flow_define(const walker *w, uint32_t region, uint32_t step, uint32_t k) {
  const tn_program *p = w->p;
  const tn_pstep *s = &p->steps[step];
  if (w->f->owned_steps[step]++) return flow_fail(w, "step %u is in two regions", step);
  for (uint32_t i = s->in.first; i < s->in.first + s->in.n; i++) {
    if (w->f->operand_step[i]) return flow_fail(w, "step %u shares its operands", step);
    w->f->operand_step[i] = step + 1;
  }
  for (uint32_t i = 0; i < s->out.n; i++) {
    const int32_t v = p->operands[s->out.first + i];
    if (v == TN_NO_INDEX) continue;
    if (v < 0 || (uint32_t)v >= p->n_values) return flow_fail(w, "an output of step %u is out of range", step);
    const tn_pvalue *x = &p->values[v];
    const bool stored =
        s->kind == TN_STEP_VIEW ? x->store == TN_STORE_VIEW : x->store == TN_STORE_BUFFER || x->store == TN_STORE_LATE;
    if (!stored || x->region != region) return flow_fail(w, "step %u cannot write value '%s'", step, x->name);
    if (w->f->value_at[v] != TN_FLOW_NEVER) return flow_fail(w, "value '%s' is written twice", x->name);
    w->f->value_at[v] = k + 1;
    w->f->value_step[v] = step;
  }
  return TN_OK;
}

/* The position of a slot that is written in time in this region or outside it; NEVER when it is not. */
static uint32_t flow_slot_at(const walker *w, uint32_t region, uint32_t slot) {
  const tn_flow *f = w->f;
  if (f->slot_is_free[slot]) return 0;
  if (f->slot_known[slot] && f->slot_region[slot] == region) return f->slot_at[slot];
  return flow_has_slot(w, slot) ? 0 : TN_FLOW_NEVER;
}

/* The latest position of the slots of a list. */
static uint32_t flow_slots_at(const walker *w, uint32_t region, tn_pspan list) {
  uint32_t at = 0;
  for (uint32_t i = list.first; i < list.first + list.n; i++) {
    const uint32_t slot_at = flow_slot_at(w, region, w->p->dim_slots[i]);
    if (slot_at > at) at = slot_at;
  }
  return at;
}

static tn_status flow_view(const walker *w, uint32_t region, uint32_t v) {
  const tn_pvalue *x = &w->p->values[v];
  tn_flow *f = w->f;
  const uint32_t source = (uint32_t)x->index;
  const bool same = w->p->values[source].region == region;
  f->root[v] = f->root[source];
  f->is_part[v] = x->part || f->is_part[source];
  if ((x->dtype == TN_STR) != (w->p->values[source].dtype == TN_STR))
    return flow_fail(w, "view '%s' mixes strings and data", x->name);
  if (f->value_at[v] != TN_FLOW_NEVER) return TN_OK; /* of a VIEW step */
  if ((uint32_t)x->rank != x->dims.n) return flow_fail(w, "view '%s' has no dims", x->name);
  if (!same && !flow_has_value(w, source)) return flow_fail(w, "view '%s' has no source", x->name);
  const uint32_t dims_at = flow_slots_at(w, region, x->dims), source_at = same ? f->value_at[source] : 0;
  const uint32_t part_at = x->part ? flow_slot_at(w, region, x->part - 1) : 0;
  f->value_at[v] = dims_at > source_at ? dims_at : source_at;
  if (part_at > f->value_at[v]) f->value_at[v] = part_at;
  return TN_OK;
}

/* Is region `outer` the region itself or one around it? */
static bool flow_is_around(const walker *w, uint32_t outer, uint32_t region) {
  while (region != outer && region != 0) region = w->f->step_region[w->p->regions[region].parent_step];
  return region == outer;
}

/* The sizes of all operands say where each is in the result. */
static tn_status flow_joins(const walker *w, uint32_t region, uint32_t step) {
  const tn_program *p = w->p;
  const tn_pstep *s = &p->steps[step];
  for (uint32_t i = s->in.first; i < s->in.first + s->in.n; i++) {
    const int32_t v = p->operands[i];
    const tn_pvalue *x = v < 0 || (uint32_t)v >= p->n_values ? NULL : &p->values[v];
    if (!x || x->kind != 0 || x->rank < 0 || (uint32_t)x->rank != x->dims.n || flow_slots_at(w, region, x->dims) != 0)
      return flow_fail(w, "%s: the size of what it joins is not known in time", s->label);
  }
  w->f->step_joins[step] = 1;
  return TN_OK;
}

/* A value in a part of the out of a later step of its region. */
static tn_status flow_join(const walker *w, uint32_t region, uint32_t v) {
  const tn_program *p = w->p;
  const tn_pvalue *x = &p->values[v];
  const uint32_t step = w->f->operand_step[x->part - 1] - 1;
  const tn_pstep *s = step < p->n_steps ? &p->steps[step] : NULL;
  const int32_t out = s && s->out.n ? p->operands[s->out.first] : TN_NO_INDEX;
  if (out == TN_NO_INDEX || s->kind != TN_STEP_KERNEL || w->f->step_region[step] != region ||
      w->f->value_at[v] == TN_FLOW_NEVER || w->f->value_step[v] >= step || p->values[out].store != TN_STORE_BUFFER ||
      p->values[out].index != x->index)
    return flow_fail(w, "value '%s' is no part of what a step joins", x->name);
  return w->f->step_joins[step] ? TN_OK : flow_joins(w, region, step);
}

static tn_status flow_buffer(const walker *w, uint32_t region, uint32_t v) {
  const tn_pvalue *x = &w->p->values[v];
  const tn_pbuffer *b = &w->p->buffers[x->index];
  const uint8_t holds = x->dtype == TN_STR ? FLOW_HOLDS_STRINGS : FLOW_HOLDS_DATA;
  uint8_t *have = &w->f->buffer_holds[x->index];
  const tn_pspan buffers = w->p->regions[b->region].buffers;
  if (x->index < buffers.first || x->index >= (int64_t)buffers.first + buffers.n ||
      !flow_is_around(w, b->region, region) || (b->region != region && !b->bytes))
    return flow_fail(w, "value '%s' is in a buffer of another region", x->name);
  if (*have != FLOW_HOLDS_NOTHING && *have != holds) return flow_fail(w, "a buffer mixes strings and data");
  *have = holds;
  if (flow_slots_at(w, region, x->dims) != 0)
    return flow_fail(w, "the size of value '%s' is not known in time", x->name);
  return x->part ? flow_join(w, region, v) : TN_OK;
}

static tn_status flow_values(const walker *w, uint32_t region) {
  const tn_pspan values = w->p->regions[region].values;
  for (uint32_t v = values.first; v < values.first + values.n; v++) {
    const tn_pvalue *x = &w->p->values[v];
    tn_pspan elems = x->shape_elems;
    w->f->root[v] = v;
    switch ((tn_pstore)x->store) {
      case TN_STORE_BUFFER:
        TN_TRY(flow_buffer(w, region, v));
        break;
      case TN_STORE_VIEW:
        TN_TRY(flow_view(w, region, v));
        break;
      case TN_STORE_SHAPE: {
        const uint32_t dims_at = flow_slots_at(w, region, x->dims), elems_at = flow_slots_at(w, region, elems);
        w->f->value_at[v] = dims_at > elems_at ? dims_at : elems_at;
        break;
      }
      case TN_STORE_INPUT:
      case TN_STORE_PARAM:
      case TN_STORE_CONST:
      case TN_STORE_LATE:
        break;
    }
  }
  return TN_OK;
}

/* When a use in `region` at its step `step` (NULL: as its result) is over, on the clock of region `home` around it. */
static uint32_t flow_use_tick(const walker *w, uint32_t home, uint32_t region, const tn_pstep *step) {
  if (region == home) return step ? w->f->step_end[step - w->p->steps] : w->f->region_end[region];
  for (;;) {
    const uint32_t owner = (uint32_t)w->p->regions[region].parent_step;
    region = w->f->step_region[owner];
    if (region == home) return w->f->step_end[owner];
  }
}

/* A use of value v at the current positions, `step` NULL: as a result of the region. */
static tn_status flow_use(const walker *w, int32_t v, uint32_t region, const tn_pstep *step, const char *label) {
  const tn_program *p = w->p;
  if (v < 0 || (uint32_t)v >= p->n_values) return flow_fail(w, "%s: operand out of range", label);
  if (!flow_has_value(w, (uint32_t)v))
    return flow_fail(w, "%s: value '%s' is used too early", label, p->values[v].name);
  const uint32_t at = w->f->root[v];
  const tn_pvalue *root = &p->values[at];
  if (root->store != TN_STORE_BUFFER) return TN_OK;
  const tn_pbuffer *b = &p->buffers[root->index];
  const uint32_t now = flow_use_tick(w, root->region, region, step);
  if (now > w->f->value_last[at]) w->f->value_last[at] = now;
  w->f->is_result[at] |= !step && root->region == region;
  if (now < b->first || now > b->last)
    return flow_fail(w, "%s: value '%s' has lost its buffer", label, p->values[v].name);
  return TN_OK;
}

static tn_status flow_outs(const walker *w, uint32_t region, const tn_pstep *s) {
  const tn_program *p = w->p;
  const int64_t k = w->f->current[region];
  for (uint32_t i = 0; i < s->out.n; i++) {
    const int32_t v = p->operands[s->out.first + i];
    if (v == TN_NO_INDEX) continue;
    const tn_pvalue *x = &p->values[v];
    const uint32_t begin = w->f->step_begin[s - p->steps], end = w->f->step_end[s - p->steps];
    if (x->store == TN_STORE_BUFFER && (begin < p->buffers[x->index].first || end > p->buffers[x->index].last))
      return flow_fail(w, "%s: value '%s' has no buffer yet", s->label, x->name);
    if (x->store != TN_STORE_BUFFER && flow_slots_at(w, region, x->dims) > k)
      return flow_fail(w, "%s: the size of value '%s' is not known in time", s->label, x->name);
  }
  if (s->kind == TN_STEP_VIEW && (s->in.n != 1 || s->out.n != 1 || p->operands[s->out.first] == TN_NO_INDEX ||
                                  p->values[p->operands[s->out.first]].index != p->operands[s->in.first]))
    return flow_fail(w, "%s: a view has one source and one result", s->label);
  return TN_OK;
}

/* The attribute as an INT of the step, -1 when it is not there. */
static int64_t flow_int_attr(const tn_program *p, const tn_pstep *s, const char *name) {
  for (uint32_t i = 0; i < s->attrs.n; i++) {
    const tn_pattr *a = &p->attrs[s->attrs.first + i];
    if (a->kind == TN_PATTR_INT && strcmp(a->name, name) == 0) return a->i;
  }
  return -1;
}

/* How many params and results the regions of a control step have. */
static tn_status flow_signature(const walker *w, const tn_pstep *s) {
  const tn_program *p = w->p;
  const bool is_if = s->kind == TN_STEP_IF, is_loop = s->kind == TN_STEP_LOOP;
  if (s->regions.n != (is_if ? 2u : 1u)) return flow_fail(w, "%s: %u regions", s->label, s->regions.n);
  if (s->in.n < (is_loop ? 2u : 1u) || (is_if && s->in.n != 1)) return flow_fail(w, "%s: %u inputs", s->label, s->in.n);
  const int64_t scans = s->kind == TN_STEP_SCAN ? flow_int_attr(p, s, "num_scan_inputs") : 0;
  if (s->kind == TN_STEP_SCAN && (scans < 1 || scans > s->in.n))
    return flow_fail(w, "%s: %lld scan inputs", s->label, (long long)scans);
  const uint32_t states = is_loop ? s->in.n - 2 : s->kind == TN_STEP_SCAN ? s->in.n - (uint32_t)scans : 0;
  for (uint32_t i = 0; i < s->regions.n; i++) {
    const int32_t number = p->operands[s->regions.first + i];
    if (number <= 0 || (uint32_t)number >= p->n_regions) return flow_fail(w, "%s: region out of range", s->label);
    const tn_pregion *r = &p->regions[number];
    const uint32_t results = is_loop ? r->results.n - 1 : r->results.n;
    if (&p->steps[r->parent_step < 0 || (uint32_t)r->parent_step >= p->n_steps ? 0 : r->parent_step] != s)
      return flow_fail(w, "%s: region %d belongs to another step", s->label, number);
    if (r->params.n != (is_if ? 0 : s->in.n) || (is_loop && r->results.n == 0) || results < s->out.n ||
        results < states)
      return flow_fail(w, "%s: region %d has %u params and %u results", s->label, number, r->params.n, r->results.n);
  }
  return TN_OK;
}

/* Gives every step its ticks. */
static tn_status flow_ticks(const walker *w, uint32_t region, uint32_t *clock, int depth) {
  const tn_program *p = w->p;
  const tn_pspan steps = p->regions[region].steps;
  if (depth > FLOW_MAX_DEPTH) return flow_fail(w, "regions are nested deeper than %d", FLOW_MAX_DEPTH);
  if (w->f->region_end[region] != FLOW_NO_TICK) return flow_fail(w, "region %u is used twice", region);
  w->f->region_end[region] = 0;
  for (uint32_t i = steps.first; i < steps.first + steps.n; i++) {
    const tn_pspan regions = p->steps[i].regions;
    if (w->f->step_region[i] != FLOW_NO_REGION) return flow_fail(w, "step %u is in two regions", i);
    w->f->step_region[i] = region;
    w->f->step_begin[i] = (*clock)++;
    for (uint32_t j = regions.first; j < regions.first + regions.n; j++) {
      const int32_t inner = p->operands[j];
      if (inner <= (int32_t)region || (uint32_t)inner >= p->n_regions)
        return flow_fail(w, "%s: region out of range", p->steps[i].label);
      if (p->regions[inner].parent_step != (int32_t)i)
        return flow_fail(w, "%s: region %d belongs to another step", p->steps[i].label, inner);
      TN_TRY(flow_ticks(w, (uint32_t)inner, clock, depth + 1));
    }
    w->f->step_end[i] = regions.n ? (*clock)++ : w->f->step_begin[i];
  }
  w->f->region_end[region] = *clock ? *clock - 1 : 0;
  return TN_OK;
}

static tn_status flow_region(const walker *w, uint32_t region, int depth);

static tn_status flow_step(const walker *w, uint32_t region, const tn_pstep *s, int depth) {
  const tn_program *p = w->p;
  for (uint32_t i = 0; i < s->in.n; i++) {
    const int32_t v = p->operands[s->in.first + i];
    if (v != TN_NO_INDEX) TN_TRY(flow_use(w, v, region, s, s->label));
  }
  TN_TRY(flow_outs(w, region, s));
  if (s->kind == TN_STEP_KERNEL || s->kind == TN_STEP_VIEW)
    return s->regions.n ? flow_fail(w, "%s: has regions", s->label) : TN_OK;
  TN_TRY(flow_signature(w, s));
  for (uint32_t i = 0; i < s->regions.n; i++)
    TN_TRY(flow_region(w, (uint32_t)p->operands[s->regions.first + i], depth + 1));
  return TN_OK;
}

static tn_status flow_entry(const walker *w, uint32_t region) {
  const tn_program *p = w->p;
  const tn_pregion *r = &p->regions[region];
  for (uint32_t v = r->values.first; v < r->values.first + r->values.n; v++) {
    const uint8_t store = p->values[v].store;
    if (p->values[v].region != region) return flow_fail(w, "value '%s' is in two regions", p->values[v].name);
    w->f->value_at[v] = store == TN_STORE_INPUT || store == TN_STORE_CONST ? 0 : TN_FLOW_NEVER;
  }
  if (!flow_own(w->f->owned_buffers, r->buffers)) return flow_fail(w, "regions share buffers");
  for (uint32_t i = 0; i < r->params.n; i++) {
    const int32_t v = p->operands[r->params.first + i];
    if (v < 0 || (uint32_t)v >= p->n_values || p->values[v].region != region ||
        p->values[v].store != (region == 0 ? TN_STORE_INPUT : TN_STORE_PARAM))
      return flow_fail(w, "parameter %u of region %u is malformed", i, region);
    if (region != 0 && w->f->value_at[v] == 0)
      return flow_fail(w, "value '%s' is a parameter twice", p->values[v].name);
    w->f->value_at[v] = 0;
  }
  return TN_OK;
}

static tn_status flow_region(const walker *w, uint32_t region, int depth) {
  const tn_program *p = w->p;
  const tn_pregion *r = &p->regions[region];
  flow_writes writes = {region, FLOW_NO_SLOT};
  int64_t *now = &w->f->current[region];
  if (depth > FLOW_MAX_DEPTH) return flow_fail(w, "regions are nested deeper than %d", FLOW_MAX_DEPTH);
  if (*now != -1) return flow_fail(w, "region %u is used twice", region);
  *now = 0;
  TN_TRY(flow_entry(w, region));
  TN_TRY(flow_segment(w, r->segment, &writes));
  for (uint32_t k = 0; k < r->steps.n; k++) {
    const int32_t segment = p->steps[r->steps.first + k].segment;
    TN_TRY(flow_define(w, region, r->steps.first + k, k));
    *now = (int64_t)k + 1;
    if (segment != TN_NO_INDEX) TN_TRY(flow_segment(w, (uint32_t)segment, &writes));
  }
  *now = 0;
  TN_TRY(flow_values(w, region));
  for (uint32_t i = r->buffers.first; i < r->buffers.first + r->buffers.n; i++)
    if (p->buffers[i].bytes && flow_slot_at(w, region, p->buffers[i].bytes - 1) != 0)
      return flow_fail(w, "the size of buffer %u is not known in time", i);
  for (uint32_t k = 0; k < r->steps.n; k++) {
    *now = k;
    TN_TRY(flow_step(w, region, &p->steps[r->steps.first + k], depth));
  }
  *now = r->steps.n;
  for (uint32_t i = 0; i < r->results.n; i++)
    TN_TRY(flow_use(w, p->operands[r->results.first + i], region, NULL, "result"));
  for (uint32_t i = 0; region == 0 && i < p->n_outputs; i++)
    TN_TRY(flow_use(w, (int32_t)p->outputs[i].value, 0, NULL, p->outputs[i].name));
  for (uint32_t s = writes.first_slot; s != FLOW_NO_SLOT; s = w->f->slot_next[s]) w->f->slot_known[s] = 0;
  *now = -2; /* walked */
  return TN_OK;
}

/* What no region owns would never be looked at. */
static tn_status flow_all_owned(const walker *w) {
  const tn_program *p = w->p;
  for (uint32_t i = 0; i < p->n_regions; i++)
    if (w->f->current[i] != -2) return flow_fail(w, "region %u belongs to no step", i);
  for (uint32_t i = 0; i < p->n_steps; i++)
    if (!w->f->owned_steps[i]) return flow_fail(w, "step %u belongs to no region", i);
  for (uint32_t i = 0; i < p->n_segments; i++)
    if (!w->f->owned_segments[i]) return flow_fail(w, "segment %u belongs to nothing", i);
  uint64_t values = 0;
  for (uint32_t i = 0; i < p->n_regions; i++) values += p->regions[i].values.n;
  if (values != p->n_values) return flow_fail(w, "values belong to no region");
  return TN_OK;
}

tn_status tn_flow_run(const tn_program *p, tn_flow *f, tn_error *err) {
  const walker w = {p, f, err};
  TN_TRY(tn_program_verify_tables(p, f, err));
  if (p->regions[0].parent_step != TN_NO_INDEX) return flow_fail(&w, "the main region has an owner");
  for (uint32_t i = 0; i < p->n_steps; i++) f->step_region[i] = FLOW_NO_REGION;
  for (uint32_t i = 0; i < p->n_regions; i++) f->region_end[i] = FLOW_NO_TICK;
  uint32_t clock = 0;
  TN_TRY(flow_ticks(&w, 0, &clock, 0));
  for (uint32_t i = 0; i < p->n_regions; i++) f->current[i] = -1;
  TN_TRY(flow_region(&w, 0, 0));
  TN_TRY(flow_all_owned(&w));
  return tn_flow_memory(p, f, err);
}

tn_status tn_program_verify(const tn_program *p, tn_error *err) {
  const tn_allocator a = p->allocator.resize ? p->allocator : tn_allocator_system();
  size_t bytes;
  /* First, since memory is taken for them. */
  if ((uint64_t)p->n_slots > (uint64_t)p->n_symbols + p->n_code + p->n_binds)
    return tn_error_set(err, TN_INVALID, "program: %u slots, but fewer are written", p->n_slots);
  if (!tn_flow_bytes(p, &bytes)) return tn_error_set(err, TN_LIMIT, "program: too large");
  void *memory = tn_alloc(a, bytes);
  if (!memory) return tn_error_set(err, TN_OOM, "no memory to verify a program");
  memset(memory, 0, bytes);
  tn_flow f;
  tn_flow_init(&f, p, memory);
  const tn_status status = tn_flow_run(p, &f, err);
  tn_free(a, memory, bytes);
  return status;
}
