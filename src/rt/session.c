/* Creates and releases sessions; takes inputs and symbols. */
#include "rt/session.h"

#include <inttypes.h>
#include <stdio.h>

#include "kern/ports.h"

_Static_assert((int)TN_PATTR_TENSOR == (int)TN_KATTR_TENSOR && (int)TN_PATTR_INTS == (int)TN_KATTR_INTS,
               "attribute kinds of programs are those of kernels");
_Static_assert((int)TN_PROGRAM_MAX_RANK == (int)TN_K_MAX_RANK, "one largest rank");

typedef struct carver { /* cuts arrays out of one block; without a block only counts */
  char *base;
  size_t at;
  bool ok;
} carver;

static void *session_carve(carver *c, size_t n, size_t size) {
  size_t bytes;
  const size_t start = c->at;
  c->ok = c->ok && tn_mul_size(n, size, &bytes) && tn_add_size(start, bytes, &c->at) &&
          tn_align_size(c->at, TN_RT_ALIGN, &c->at);
  return c->base && c->ok ? c->base + start : NULL;
}

typedef struct session_sizes {
  size_t events, states, buffers_max, shape_bytes, key;
  char *shape_data;
} session_sizes;

/* An event per value, one more per buffered value. */
static bool session_measure(const tn_program *p, session_sizes *z) {
  *z = (session_sizes){.events = p->n_values, .key = tn_rt_key_size(p)};
  for (uint32_t i = 0; i < p->n_values; i++) {
    const tn_pvalue *x = &p->values[i];
    size_t bytes;
    if (x->store != TN_STORE_SHAPE) continue;
    if (!tn_dtype_bytes((tn_dtype)x->dtype, x->shape_elems.n, &bytes) ||
        !tn_align_size(bytes + 1, TN_RT_ALIGN, &bytes) || !tn_add_size(z->shape_bytes, bytes, &z->shape_bytes))
      return false;
  }
  for (uint32_t i = 0; i < p->n_regions; i++) {
    z->states += p->regions[i].params.n;
    if (p->regions[i].buffers.n > z->buffers_max) z->buffers_max = p->regions[i].buffers.n;
  }
  return true;
}

static void session_layout(tn_rt_session *s, carver *c, session_sizes *z) {
  const tn_program *p = s->p;
#define SESSION_ARRAY(field, n) s->field = session_carve(c, (n), sizeof s->field[0])
  SESSION_ARRAY(slots, p->n_slots);
  SESSION_ARRAY(given, p->n_symbols);
  SESSION_ARRAY(is_given, p->n_symbols);
  SESSION_ARRAY(is_set, p->n_inputs);
  SESSION_ARRAY(args, p->n_values);
  SESSION_ARRAY(blocks, p->n_values);
  SESSION_ARRAY(attrs, p->n_attrs);
  SESSION_ARRAY(operands, p->n_operands);
  SESSION_ARRAY(steps, p->n_steps);
  SESSION_ARRAY(regions, p->n_regions);
  SESSION_ARRAY(states, z->states);
  SESSION_ARRAY(events, z->events);
  SESSION_ARRAY(joins, p->n_steps);
  SESSION_ARRAY(parts, p->n_operands);
  SESSION_ARRAY(aims, p->n_buffers);
  SESSION_ARRAY(next_in_buffer, p->n_values);
  SESSION_ARRAY(intervals, p->n_buffers);
  SESSION_ARRAY(buffer_base, p->n_buffers);
  SESSION_ARRAY(user_outputs, p->n_outputs);
  if (p->n_gears) {
    SESSION_ARRAY(gear.inputs, p->n_inputs);
    SESSION_ARRAY(gear.padded, p->n_inputs);
    SESSION_ARRAY(gear.cut, p->n_outputs);
    SESSION_ARRAY(gear.slots, p->n_slots);
  }
  SESSION_ARRAY(links, p->n_inputs);
  SESSION_ARRAY(key, z->key);
  SESSION_ARRAY(bound, s->n_bound);
  SESSION_ARRAY(planner.nodes, tn_planner_nodes(z->buffers_max));
  SESSION_ARRAY(planner.node_of, z->buffers_max);
  SESSION_ARRAY(planner.order, z->buffers_max);
  SESSION_ARRAY(planner.placed, z->buffers_max);
  SESSION_ARRAY(planner.other, z->buffers_max);
#undef SESSION_ARRAY
  z->shape_data = session_carve(c, z->shape_bytes, 1);
}

static tn_status session_memory(tn_rt_session *s, session_sizes *z, tn_error *err) {
  carver c = {NULL, 0, true};
  size_t flow_bytes;
  if (!session_measure(s->p, z) || !tn_flow_bytes(s->p, &flow_bytes))
    return tn_error_set(err, TN_LIMIT, "the program is too large");
  session_layout(s, &c, z);
  if (!c.ok) return tn_error_set(err, TN_LIMIT, "the program is too large");
  if (!tn_rt_grow(s, &s->memory, c.at, 0) || !tn_rt_grow(s, &s->flow_memory, flow_bytes, 0))
    return tn_error_set(err, TN_OOM, "no memory for a session");
  memset(s->memory.ptr, 0, s->memory.bytes);
  memset(s->flow_memory.ptr, 0, s->flow_memory.bytes);
  c = (carver){s->memory.ptr, 0, true};
  session_layout(s, &c, z);
  tn_flow_init(&s->flow, s->p, s->flow_memory.ptr);
  return TN_OK;
}

static void session_const(tn_rt_session *s, uint32_t value) {
  const tn_pvalue *x = &s->p->values[value];
  tn_karg *a = &s->args[value];
  a->rank = x->rank;
  for (int d = 0; d < x->rank; d++) a->dims[d] = s->flow.slot_const[s->p->dim_slots[x->dims.first + (uint32_t)d]];
  const bool ok = tn_dims_count(a->dims, a->rank, &a->count); /* verified */
  TN_ASSERT(ok);
  (void)ok;
  a->data = (void *)(uintptr_t)tn_program_data(s->p, value); /* kernels do not write their inputs */
  a->is_const = true;
}

static void session_values(tn_rt_session *s, const session_sizes *z) {
  char *shape_data = z->shape_data;
  for (uint32_t i = 0; i < s->p->n_values; i++) {
    const tn_pvalue *x = &s->p->values[i];
    tn_karg *a = &s->args[i];
    size_t bytes = 0;
    a->kind = (tn_kkind)x->kind;
    a->dtype = (tn_dtype)x->dtype;
    a->rank = -1;
    if (x->store == TN_STORE_CONST) session_const(s, i);
    if (x->store != TN_STORE_SHAPE || !tn_dtype_bytes(a->dtype, x->shape_elems.n, &bytes)) continue;
    s->blocks[i] = (tn_rt_block){shape_data, 0}; /* in the session's memory: not freed alone */
    if (!tn_align_size(bytes + 1, TN_RT_ALIGN, &bytes)) continue;
    shape_data += bytes;
  }
}

static void session_attr(tn_rt_session *s, uint32_t i) {
  const tn_program *p = s->p;
  const tn_pattr *a = &p->attrs[i];
  tn_kattr *k = &s->attrs[i];
  *k = (tn_kattr){.name = a->name, .kind = (tn_kattr_kind)a->kind, .i = a->i, .f = a->f, .s = a->s, .n = a->list.n};
  if (a->kind == TN_PATTR_INTS) k->ints = p->ints + a->list.first;
  if (a->kind == TN_PATTR_FLOATS) k->floats = p->floats + a->list.first;
  if (a->kind == TN_PATTR_STRS) k->strs = p->strings + a->list.first;
  if (a->kind == TN_PATTR_TENSOR) k->tensor = &s->args[a->value];
}

static void session_step(tn_rt_session *s, uint32_t i) {
  const tn_pstep *t = &s->p->steps[i];
  tn_rt_step *step = &s->steps[i];
  for (uint32_t j = 0; j < t->in.n + t->out.n; j++) {
    const uint32_t at = j < t->in.n ? t->in.first + j : t->out.first + (j - t->in.n);
    const int32_t v = s->p->operands[at];
    s->operands[at] = v == TN_NO_INDEX ? NULL : &s->args[v];
  }
  step->number = i;
  step->call = (tn_kcall){
      .in = (const tn_karg *const *)(s->operands + t->in.first),
      .out = s->operands + t->out.first,
      .n_in = (int)t->in.n,
      .n_out = (int)t->out.n,
      .attrs = s->attrs + t->attrs.first,
      .n_attrs = (int)t->attrs.n,
      .pool = s->pool,
      .host = &tn_rt_host,
      .host_self = s,
      .step = step,
      .err = &s->kernel_error,
  };
  step->call.declared = (uint64_t)tn_k_int(&step->call, TN_STEP_DECLARED, 0);
}

typedef struct session_operands {
  const tn_program *p;
  const tn_pstep *step;
} session_operands;

static tn_koperand session_operand(const void *self, int i) {
  const session_operands *o = self;
  const uint32_t at = (uint32_t)i, n_in = o->step->in.n;
  const int32_t v = o->p->operands[at < n_in ? o->step->in.first + at : o->step->out.first + (at - n_in)];
  if (v == TN_NO_INDEX) return (tn_koperand){false};
  const tn_pvalue *x = &o->p->values[v];
  return (tn_koperand){true, x->kind == TN_KARG_TENSOR, (tn_dtype)x->dtype, x->rank};
}

static tn_status session_check_operands(const tn_rt_session *s, tn_error *err) {
  for (uint32_t i = 0; i < s->p->n_steps; i++) {
    const tn_pstep *t = &s->p->steps[i];
    const session_operands of = {s->p, t};
    tn_error inner = {TN_OK, ""};
    if (!s->steps[i].kernel) continue;
    const tn_status status =
        tn_kernel_check(s->steps[i].kernel, session_operand, &of, (int)t->in.n, (int)t->out.n, &inner);
    if (status != TN_OK) return tn_error_set(err, status, "%s: %s", t->label, inner.text);
  }
  return TN_OK;
}

/* All missing kernels in one sentence, as far as the buffer goes. */
static tn_status session_kernels(tn_rt_session *s, tn_error *err) {
  char text[900] = "";
  size_t at = 0;
  uint32_t missing = 0;
  for (uint32_t i = 0; i < s->p->n_steps; i++) {
    const tn_pstep *t = &s->p->steps[i];
    if (t->kind != TN_STEP_KERNEL) continue;
    s->steps[i].kernel = tn_kernel_find(t->kernel);
    if (s->steps[i].kernel) continue;
    missing++;
    if (at + 1 >= sizeof text) continue;
    const int n = snprintf(text + at, sizeof text - at, "%s%s: no kernel '%s'", at ? "; " : "", t->label, t->kernel);
    at += n > 0 ? (size_t)n : 0;
  }
  if (missing == 0) return session_check_operands(s, err);
  if (at >= sizeof text) return tn_error_set(err, TN_UNSUPPORTED, "%s... (%u in all)", text, missing);
  return tn_error_set(err, TN_UNSUPPORTED, "%s", text);
}

static tn_status session_check_sizes(const tn_rt_session *s, tn_error *err) {
  for (uint32_t i = 0; i < s->p->n_steps; i++) {
    const tn_pstep *t = &s->p->steps[i];
    if (!s->steps[i].kernel || (s->steps[i].kernel->flags & TN_K_SIZES)) continue;
    for (uint32_t j = 0; j < t->out.n; j++) {
      const int32_t v = s->p->operands[t->out.first + j];
      if (v != TN_NO_INDEX && s->p->values[v].kind == 0 && !tn_rt_is_sized(&s->p->values[v]))
        return tn_error_set(err, TN_INTERNAL, "%s: kernel '%s' cannot decide the size of '%s'", t->label, t->kernel,
                            s->p->values[v].name);
    }
  }
  return TN_OK;
}

/* The step of a value that is resolved after one, as an index of p->steps. */
static uint32_t session_step_of(const tn_rt_session *s, uint32_t value) {
  return s->p->regions[s->p->values[value].region].steps.first + s->flow.value_at[value] - 1;
}

/* Which list of events a value is in, if any. The VIEW of a VIEW step is resolved by the step. */
static tn_pspan *session_events_of(tn_rt_session *s, uint32_t value) {
  const tn_pvalue *x = &s->p->values[value];
  const uint32_t at = s->flow.value_at[value];
  if (x->store == TN_STORE_BUFFER) return &s->regions[x->region].buffer_values;
  if (at == TN_FLOW_NEVER) return NULL;
  if (x->store == TN_STORE_LATE)
    return at > 0 && tn_rt_is_sized(x) ? &s->steps[session_step_of(s, value)].before : NULL;
  if (x->store != TN_STORE_SHAPE && x->store != TN_STORE_VIEW) return NULL;
  if (at == 0) return &s->regions[x->region].entry;
  const tn_pstep *t = &s->p->steps[session_step_of(s, value)];
  const bool by_step = t->kind == TN_STEP_VIEW && s->p->operands[t->out.first] == (int32_t)value;
  return by_step ? NULL : &s->steps[session_step_of(s, value)].after;
}

static void session_events(tn_rt_session *s) {
  uint32_t at = 0;
  for (uint32_t i = 0; i < s->p->n_values; i++) {
    tn_pspan *list = session_events_of(s, i);
    if (list) list->n++;
  }
  for (uint32_t i = 0; i < s->p->n_regions; i++) {
    tn_pspan *const lists[] = {&s->regions[i].buffer_values, &s->regions[i].entry};
    for (int j = 0; j < 2; j++, at += lists[j - 1]->n) lists[j]->first = at;
  }
  for (uint32_t i = 0; i < s->p->n_steps; i++) {
    tn_pspan *const lists[] = {&s->steps[i].before, &s->steps[i].after};
    for (int j = 0; j < 2; j++, at += lists[j - 1]->n) lists[j]->first = at;
  }
  for (uint32_t i = 0; i < s->p->n_values; i++) { /* first moves on while filling ... */
    tn_pspan *list = session_events_of(s, i);
    if (list) s->events[list->first++] = i;
  }
  for (uint32_t i = 0; i < s->p->n_regions; i++) { /* ... and back */
    s->regions[i].buffer_values.first -= s->regions[i].buffer_values.n;
    s->regions[i].entry.first -= s->regions[i].entry.n;
  }
  for (uint32_t i = 0; i < s->p->n_steps; i++) {
    s->steps[i].before.first -= s->steps[i].before.n;
    s->steps[i].after.first -= s->steps[i].after.n;
  }
}

/* Steps that join, by region. The last comes first: the result of one may be a part of that of a later one. */
static void session_joins(tn_rt_session *s) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->p->n_regions; i++) {
    const tn_pspan steps = s->p->regions[i].steps;
    s->regions[i].joins.first = n;
    for (uint32_t k = steps.n; k-- > 0;)
      if (s->flow.step_joins[steps.first + k]) s->joins[n++] = steps.first + k;
    s->regions[i].joins.n = n - s->regions[i].joins.first;
  }
}

/* Is the value in the part that operand `at` of a step has in the step's result, or in a part of that? */
static bool session_is_part(const tn_rt_session *s, uint32_t value, uint32_t at) {
  const tn_program *p = s->p;
  while (p->values[value].part) {
    const uint32_t place = p->values[value].part - 1;
    if (place == at) return true;
    value = (uint32_t)p->operands[p->steps[s->flow.operand_step[place] - 1].out.first];
  }
  return false;
}

/* A result over an operand, operands in parts of a result: only where the kernel allows it. */
static tn_status session_in_place(const tn_rt_session *s, uint32_t step, tn_error *err) {
  const tn_program *p = s->p;
  const tn_pstep *t = &p->steps[step];
  const uint32_t flags = s->steps[step].kernel ? s->steps[step].kernel->flags : 0;
  const int32_t out = t->out.n ? p->operands[t->out.first] : TN_NO_INDEX;
  if (out == TN_NO_INDEX || p->values[out].store != TN_STORE_BUFFER || !s->steps[step].kernel) return TN_OK;
  for (uint32_t i = 0; i < t->in.n; i++) {
    const int32_t in = p->operands[t->in.first + i];
    const tn_pvalue *root = in == TN_NO_INDEX ? NULL : &p->values[s->flow.root[in]];
    if (!root || root->store != TN_STORE_BUFFER || root->index != p->values[out].index) continue;
    if (root->part != p->values[out].part) {
      /* Verified: where they overlap the operand is in its part of the result. */
      if (!(flags & TN_K_JOINS) && session_is_part(s, s->flow.root[in], t->in.first + i))
        return tn_error_set(err, TN_INTERNAL, "%s: kernel '%s' does not join", t->label, t->kernel);
      continue;
    }
    if ((flags & TN_K_IN_PLACE) || ((flags & TN_K_IN_PLACE_FIRST) && i == 0)) continue;
    return tn_error_set(err, TN_INTERNAL, "%s: kernel '%s' cannot write '%s' over its operand %u", t->label, t->kernel,
                        p->values[out].name, i);
  }
  return TN_OK;
}

static tn_status session_buffers(tn_rt_session *s, tn_error *err) {
  for (uint32_t i = 0; i < s->p->n_buffers; i++) s->intervals[i] = s->flow.intervals[i];
  s->by_first = s->flow.by_first;
  s->by_last = s->flow.by_last;
  for (uint32_t i = 0; i < s->p->n_steps; i++) TN_TRY(session_in_place(s, i, err));
  return TN_OK;
}

static void session_states(tn_rt_session *s) {
  tn_rt_state *next = s->states;
  for (uint32_t i = 0; i < s->p->n_regions; i++) {
    s->regions[i].states = next;
    next += s->p->regions[i].params.n;
  }
}

static tn_status session_fill(tn_rt_session *s, const tn_rt_options *o, tn_error *err) {
  static const tn_rt_options plain = {.pool = {.threads = 1}};
  session_sizes z;
  if (!o) o = &plain;
  s->seed = o->seed;
  s->max_memory = o->max_memory;
  s->n_bound = o->shapes;
  s->is_shrinking = o->is_shrinking;
  s->gear.number = s->gear.wanted = TN_NO_INDEX;
  TN_TRY(session_memory(s, &z, err));
  TN_TRY(tn_flow_run(s->p, &s->flow, err));
  s->pool = o->own_pool;
  tn_pool_retain(s->pool);
  if (!s->pool) TN_TRY(tn_pool_shared(&o->pool, &s->pool, err));
  session_values(s, &z);
  session_states(s);
  for (uint32_t i = 0; i < s->p->n_attrs; i++) session_attr(s, i);
  for (uint32_t i = 0; i < s->p->n_steps; i++) session_step(s, i);
  TN_TRY(session_kernels(s, err));
  TN_TRY(session_check_sizes(s, err));
  session_events(s);
  session_joins(s);
  tn_rt_aims_init(s);
  return session_buffers(s, err);
}

tn_status tn_rt_session_create(tn_program *p, tn_allocator allocator, const tn_rt_options *o, tn_rt_session **out,
                               tn_error *err) {
  tn_rt_session *s = tn_alloc(allocator, sizeof *s);
  if (!s) return tn_error_set(err, TN_OOM, "no memory for a session");
  memset(s, 0, sizeof *s);
  s->allocator = allocator;
  s->total_bytes = (int64_t)sizeof *s;
  s->p = p;
  tn_program_retain(p);
  tn_status status = session_fill(s, o, err);
  if (status != TN_OK) {
    status = tn_rt_denied(s, status, err);
    tn_rt_session_release(s);
    return status;
  }
  *out = s;
  return TN_OK;
}

/* Everything that a run makes. What is placed in it is placed anew by the next run. */
static void session_drop_values(tn_rt_session *s) {
  tn_rt_forget(s);
  tn_rt_move_buffers_back(s);
  tn_rt_gear_drop(s);
  for (uint32_t i = 0; i < s->p->n_values; i++) {
    if (s->p->values[i].store != TN_STORE_LATE) continue; /* others own nothing */
    tn_rt_items_drop(s, &s->args[i]);
    tn_rt_drop(s, &s->blocks[i]);
  }
  for (uint32_t i = 0; i < s->p->n_steps; i++)
    for (int j = 0; j < TN_RT_CACHES; j++) {
      tn_rt_drop(s, &s->steps[i].cache[j]);
      s->steps[i].cache_bytes[j] = 0;
    }
  for (uint32_t i = 0; i < s->p->n_regions; i++) {
    tn_rt_drop(s, &s->regions[i].arena);
    s->regions[i].is_planned = false;
    for (uint32_t j = 0; s->regions[i].states && j < s->p->regions[i].params.n; j++)
      for (int k = 0; k < 2; k++) {
        tn_rt_items_drop(s, &s->regions[i].states[j].slot[k].arg);
        tn_rt_drop(s, &s->regions[i].states[j].slot[k].block);
      }
  }
}

void tn_rt_trim(tn_rt_session *s) {
  session_drop_values(s);
  tn_rt_chunks_drop(s, &s->scratch);
  tn_rt_chunks_drop(s, &s->strings);
  s->is_bound = false;
}

void tn_rt_session_release(tn_rt_session *s) {
  if (!s) return;
  tn_pool_release(s->pool);
  if (s->memory.ptr && s->flow_memory.ptr) tn_rt_trim(s);
  tn_rt_links_drop(s);
  tn_rt_drop(s, &s->memory);
  tn_rt_drop(s, &s->flow_memory);
  tn_program_release(s->p);
  tn_free(s->allocator, s, sizeof *s);
}

void tn_rt_set_hook(tn_rt_session *s, tn_rt_hook hook, void *arg) {
  s->hook = hook;
  s->hook_arg = arg;
}

const tn_karg *tn_rt_output(const tn_rt_session *s, uint32_t i) {
  return s->user_outputs[i].is_copied ? &s->user_outputs[i].arg : tn_rt_made(s, i);
}

tn_rt_stats tn_rt_get_stats(const tn_rt_session *s) {
  return (tn_rt_stats){
      s->binds,      s->runs, s->bind_hits, (int64_t)s->regions[0].arena_bytes, (int64_t)s->regions[0].live_bytes,
      s->total_bytes};
}

tn_status tn_rt_set_symbol(tn_rt_session *s, const char *name, int64_t value, tn_error *err) {
  for (uint32_t i = 0; i < s->p->n_symbols; i++) {
    if (strcmp(s->p->symbols[i].name, name) != 0) continue;
    if (!s->is_given[i] || s->given[i] != value) s->is_bound = false;
    s->is_given[i] = 1;
    s->given[i] = value;
    return TN_OK;
  }
  return tn_error_set(err, TN_INVALID, "there is no symbol '%s'", name);
}
