/* If, Loop, Scan and SequenceMap. Results of their regions are made where they are wanted (rt/aim.c), or copied there.
 */
#include <inttypes.h>

#include "rt/session.h"

typedef struct control { /* one run of a control step */
  tn_rt_session *s;
  const tn_pstep *step;
  uint32_t region;
  const tn_pregion *body;
  tn_rt_region *state;
  tn_error *err;
  uint32_t states, first; /* of a loop: how many, and which result is the first of them */
  int64_t at, n;          /* iteration, from 0, and how many there are if none ends the loop; n < 0: not known */
} control;

#define control_fail(c, code, fmt, ...) tn_error_set((c)->err, (code), "%s: " fmt, (c)->step->label, __VA_ARGS__)

static control control_of(tn_rt_session *s, uint32_t step, uint32_t which, tn_error *err) {
  const tn_pstep *t = &s->p->steps[step];
  const uint32_t region = (uint32_t)s->p->operands[t->regions.first + which];
  return (control){s, t, region, &s->p->regions[region], &s->regions[region], err, 0, 0, 0, -1};
}

/* Operand i of a list, NULL when absent. */
static tn_karg *control_operand(const control *c, tn_pspan list, uint32_t i) {
  const int32_t v = i < list.n ? c->s->p->operands[list.first + i] : TN_NO_INDEX;
  return v == TN_NO_INDEX ? NULL : &c->s->args[v];
}

static const tn_karg *control_in(const control *c, uint32_t i) { return control_operand(c, c->step->in, i); }
static const tn_karg *control_result(const control *c, uint32_t i) { return control_operand(c, c->body->results, i); }

static tn_status control_scalar(const control *c, const tn_karg *a, const char *what, int64_t *out) {
  const tn_dtype_class cls = a->kind == TN_KARG_TENSOR ? tn_dtype_cls(a->dtype) : TN_CLASS_NONE;
  if (cls != TN_CLASS_INT && cls != TN_CLASS_UINT && cls != TN_CLASS_BOOL)
    return control_fail(c, TN_MISMATCH, "the %s is of type %s", what, tn_dtype_name(a->dtype));
  if (a->count != 1) return control_fail(c, TN_MISMATCH, "the %s has %" PRId64 " elements, expected 1", what, a->count);
  *out = tn_load_i64(a->dtype, a->data, 0);
  return TN_OK;
}

/* Parameter i of the body := src, whose data must stay until the body has run. */
static tn_status control_param(const control *c, uint32_t i, const tn_karg *src) {
  const uint32_t v = (uint32_t)c->s->p->operands[c->body->params.first + i];
  const tn_pvalue *x = &c->s->p->values[v];
  if (!src) return control_fail(c, TN_MISMATCH, "'%s' is missing", x->name);
  /* An optional may come back filled, as what it holds: the operators on optionals take both. */
  if ((uint8_t)src->kind != x->kind && x->kind != TN_KARG_OPTIONAL)
    return control_fail(c, TN_MISMATCH, "'%s' is of another kind than expected", x->name);
  if (x->dtype && src->dtype && x->dtype != src->dtype)
    return control_fail(c, TN_MISMATCH, "'%s' is %s, expected %s", x->name, tn_dtype_name(src->dtype),
                        tn_dtype_name((tn_dtype)x->dtype));
  if (x->rank >= 0 && src->rank != x->rank)
    return control_fail(c, TN_MISMATCH, "'%s' has rank %d, expected %d", x->name, src->rank, x->rank);
  c->s->args[v] = *src;
  c->s->args[v].is_const = c->s->args[v].is_late = false;
  return TN_OK;
}

static uint32_t control_result_value(const control *c, uint32_t i) {
  return (uint32_t)c->s->p->operands[c->body->results.first + i];
}

/* The memory for the state that this iteration makes: not that of the one it reads. When it is known which iteration is
 * the last, that one and every second before it write to the out. NULL when there is none. */
static void *control_state_memory(const control *c, uint32_t i, const tn_karg *made, size_t bytes) {
  const uint32_t param = i + (c->step->kind == TN_STEP_LOOP ? 2 : 0);
  const void *const read = c->s->args[c->s->p->operands[c->body->params.first + param]].data;
  tn_rt_item *const slot = c->state->states[param].slot;
  const tn_karg *out = control_operand(c, c->step->out, i);
  const bool has_out = c->n > 0 && out && out->kind == TN_KARG_TENSOR && out->data && out->dtype == made->dtype &&
                       out->count == made->count && out->data != read;
  if (has_out && ((c->n - 1 - c->at) & 1) == 0) return out->data;
  tn_rt_block *block = &slot[c->n > 0 ? 0 : c->at & 1].block;
  if (block->ptr && block->ptr == read) block = block == &slot[0].block ? &slot[1].block : &slot[0].block;
  if (tn_rt_grow(c->s, block, bytes, 0)) return block->ptr;
  c->s->denied_bytes = 0; /* it is copied */
  return NULL;
}

static void control_aim_state(const control *c, uint32_t i) {
  const uint32_t v = control_result_value(c, c->first + i), root = c->s->flow.root[v];
  const tn_karg *made = &c->s->args[root];
  size_t bytes = 0;
  void *to = NULL;
  if (!tn_rt_can_aim(c->s, c->region, v)) return;
  if (made->count > 0 && tn_dtype_bytes(made->dtype, made->count, &bytes)) to = control_state_memory(c, i, made, bytes);
  (void)tn_rt_aim(c->s, c->region, v, to, bytes);
}

/* Where element `at` of n of a stacked out is; NULL when it is not in one piece, or not known yet. */
static char *control_element(const control *c, uint32_t i, const tn_karg *e, int64_t axis, int64_t at, int64_t n) {
  const tn_karg *out = control_operand(c, c->step->out, i);
  if (!out || out->kind != TN_KARG_TENSOR || !out->data || out->dtype != e->dtype || out->rank != e->rank + 1)
    return NULL;
  if (axis < 0) axis += out->rank;
  const int bits = tn_dtype_bits(e->dtype);
  if (axis != 0 || bits % 8 != 0 || e->dtype == TN_STR || out->dims[0] != n || at < 0 || at >= n) return NULL;
  if (memcmp(out->dims + 1, e->dims, (size_t)e->rank * sizeof *e->dims) != 0) return NULL;
  return (char *)out->data + at * e->count * (bits / 8);
}

static const tn_kattr *control_attr(const control *c, const char *name) {
  const tn_rt_step *step = &c->s->steps[c->step - c->s->p->steps];
  return tn_k_attr(&step->call, name);
}

/* Element i of an INTS attribute, 0 when it is absent or shorter. */
static int64_t control_int(const control *c, const char *name, uint32_t i) {
  const tn_kattr *a = control_attr(c, name);
  return a && a->kind == TN_KATTR_INTS && i < a->n ? a->ints[i] : 0;
}

/* Which element of a stacked out this iteration makes. */
static int64_t control_stack_at(const control *c, uint32_t i) {
  return control_int(c, "scan_output_directions", i - c->states) ? c->n - 1 - c->at : c->at;
}

static void control_aim_element(const control *c, uint32_t i) {
  const uint32_t v = control_result_value(c, c->first + i);
  const tn_pvalue *x = &c->s->p->values[v];
  const tn_karg *out = control_operand(c, c->step->out, i);
  const bool is_scan = c->step->kind == TN_STEP_SCAN;
  size_t bytes = 0;
  void *to = NULL;
  if (!tn_rt_can_aim(c->s, c->region, v)) return;
  if (out && tn_rt_is_sized(x) && tn_rt_is_sized(&c->s->p->values[out - c->s->args]) && out->rank == x->rank + 1) {
    const int64_t axis = is_scan ? control_int(c, "scan_output_axes", i - c->states) : 0;
    const int64_t n = is_scan ? c->n : out->dims[0], at = is_scan ? control_stack_at(c, i) : c->at;
    tn_karg e = {.dtype = (tn_dtype)x->dtype, .rank = x->rank, .count = c->s->args[c->s->flow.root[v]].count};
    memcpy(e.dims, out->dims + 1, (size_t)e.rank * sizeof *e.dims); /* compared when the element is there */
    const bool is_whole = n > 0 && out->count % n == 0 && out->count / n == e.count;
    if (is_whole && tn_dtype_bytes(e.dtype, e.count, &bytes)) to = control_element(c, i, &e, axis, at, n);
  }
  (void)tn_rt_aim(c->s, c->region, v, to, bytes);
}

static void control_aim(const control *c) {
  c->state->run = ++c->s->n_bodies;
  for (uint32_t i = c->states; i < c->step->out.n; i++) control_aim_element(c, i);
  for (uint32_t i = 0; i < c->states; i++) control_aim_state(c, i);
}

static tn_status control_body(const control *c) {
  TN_TRY(tn_rt_watch(c->s, c->err));
  tn_error *inner = tn_rt_inner_error(c->s);
  tn_status status = tn_rt_enter(c->s, c->region, inner);
  if (status == TN_OK && (c->step->kind == TN_STEP_LOOP || c->step->kind == TN_STEP_SCAN)) control_aim(c);
  if (status == TN_OK) status = tn_rt_resolve(c->s, c->state->entry, inner);
  if (status != TN_OK) return control_fail(c, status, "%s", inner->text);
  return tn_rt_steps(c->s, c->region, c->err);
}

/* Makes out i of the step a tensor of these dims: planned ones must agree, late ones get memory. */
static tn_status control_size(const control *c, uint32_t i, tn_dtype dtype, int rank, const int64_t *dims) {
  const uint32_t v = (uint32_t)c->s->p->operands[c->step->out.first + i];
  const tn_pvalue *x = &c->s->p->values[v];
  tn_karg *a = &c->s->args[v];
  if (a->kind != TN_KARG_TENSOR || a->dtype != dtype)
    return control_fail(c, TN_MISMATCH, "'%s' is %s, expected %s", x->name, tn_dtype_name(dtype),
                        tn_dtype_name(a->dtype));
  if (rank > TN_K_MAX_RANK || (x->rank >= 0 && rank != x->rank))
    return control_fail(c, TN_MISMATCH, "'%s' has rank %d, expected %d", x->name, rank, x->rank);
  if (!tn_rt_is_sized(x)) {
    a->rank = rank;
    memcpy(a->dims, dims, (size_t)rank * sizeof *dims);
    if (!tn_dims_count(dims, rank, &a->count)) return control_fail(c, TN_LIMIT, "'%s' is too large", x->name);
    return tn_rt_reserve(c->s, a, &c->s->blocks[v], 0, c->err);
  }
  for (int d = 0; d < rank; d++)
    if (a->dims[d] != dims[d])
      return control_fail(c, TN_MISMATCH, "'%s' dim %d is %" PRId64 ", expected %" PRId64, x->name, d, dims[d],
                          a->dims[d]);
  return TN_OK;
}

static tn_status control_copy_out(const control *c, uint32_t i, const tn_karg *src) {
  tn_karg *out = control_operand(c, c->step->out, i);
  if (!out) return TN_OK;
  if (!src) return control_fail(c, TN_MISMATCH, "result %u is missing", i);
  if (out->kind != src->kind) return control_fail(c, TN_MISMATCH, "result %u is of another kind than expected", i);
  if (src->kind != TN_KARG_TENSOR) return tn_rt_assign(c->s, out, NULL, src, c->err);
  TN_TRY(control_size(c, i, src->dtype, src->rank, src->dims));
  if (out->data != src->data) /* the region may have written it in place */
    tn_k_copy(src->dtype, out->data, 0, src->data, 0, src->count);
  return TN_OK;
}

static tn_status control_if(tn_rt_session *s, uint32_t step, tn_error *err) {
  control c = control_of(s, step, 0, err);
  int64_t condition = 0;
  if (!control_in(&c, 0)) return control_fail(&c, TN_MISMATCH, "the %s is missing", "condition");
  TN_TRY(control_scalar(&c, control_in(&c, 0), "condition", &condition));
  c = control_of(s, step, condition ? 0 : 1, err);
  TN_TRY(control_body(&c));
  for (uint32_t i = 0; i < c.step->out.n; i++) TN_TRY(control_copy_out(&c, i, control_result(&c, i)));
  return TN_OK;
}

/* A size that is known before the body runs; 0 for one that is not. */
static int64_t control_known_size(const control *c, uint32_t slot) {
  const tn_flow *const f = &c->s->flow;
  const bool outside = f->slot_is_free[slot] || f->slot_region[slot] != (uint32_t)(c->body - c->s->p->regions);
  const int64_t n = f->slot_is_const[slot] ? f->slot_const[slot] : outside ? c->s->slots[slot] : 0;
  return n > 0 ? n : 0;
}

/* The sizes of a stacked out without elements: what the program knows of the body's result, 0 for what it does not. */
static tn_status control_no_elements(const control *c, uint32_t i, uint32_t result, int64_t axis) {
  if (!control_operand(c, c->step->out, i)) return TN_OK;
  const uint32_t v = (uint32_t)c->s->p->operands[c->step->out.first + i];
  const tn_pvalue *x = &c->s->p->values[v];
  const tn_pvalue *e = &c->s->p->values[c->s->p->operands[c->body->results.first + result]];
  int64_t dims[TN_K_MAX_RANK + 1] = {0};
  const int rank = x->rank >= 0 ? x->rank : e->rank >= 0 ? e->rank + 1 : 1;
  if (rank == 0) return control_fail(c, TN_MISMATCH, "'%s' has no axis to stack along", x->name);
  if (tn_rt_is_sized(x)) return control_size(c, i, (tn_dtype)x->dtype, rank, c->s->args[v].dims);
  const int64_t at = axis < 0 ? axis + rank : axis;
  for (int d = 0, from = 0; d < rank && tn_rt_is_sized(e) && e->rank + 1 == rank; d++) {
    if (d == at) continue;
    dims[d] = control_known_size(c, c->s->p->dim_slots[e->dims.first + (uint32_t)from++]);
  }
  return control_size(c, i, (tn_dtype)x->dtype, rank, dims);
}

/* Element `at` of `n` along an axis of out i, which has the dims of the elements with n put in. */
static tn_status control_stack(const control *c, uint32_t i, const tn_karg *e, int64_t axis, int64_t at, int64_t n,
                               bool is_first) {
  tn_karg *out = control_operand(c, c->step->out, i);
  int64_t dims[TN_K_MAX_RANK + 1], outer = 1;
  if (!out) return TN_OK;
  if (!e || e->kind != TN_KARG_TENSOR || e->rank >= TN_K_MAX_RANK)
    return control_fail(c, TN_MISMATCH, "result %u cannot be stacked", i);
  if (axis < 0) axis += e->rank + 1;
  if (axis < 0 || axis > e->rank) return control_fail(c, TN_MISMATCH, "the axis of result %u is outside its rank", i);
  for (int d = 0; d <= e->rank; d++) {
    dims[d] = d < axis ? e->dims[d] : d == axis ? n : e->dims[d - 1];
    if (d < axis) outer *= dims[d];
  }
  if (is_first) TN_TRY(control_size(c, i, e->dtype, e->rank + 1, dims));
  if (out->rank != e->rank + 1 || out->dtype != e->dtype ||
      memcmp(out->dims, dims, (size_t)out->rank * sizeof *dims) != 0)
    return control_fail(c, TN_MISMATCH, "result %u changes its shape from one iteration to the next", i);
  const int64_t inner = outer ? e->count / outer : 0;
  if (e->count && control_element(c, i, e, axis, at, n) == e->data) return TN_OK;
  for (int64_t o = 0; o < outer; o++) tn_k_copy(e->dtype, out->data, (o * n + at) * inner, e->data, o * inner, inner);
  return TN_OK;
}

/* Like control_stack along axis 0 when the number of elements is not known: the out grows. */
static tn_status control_push(const control *c, uint32_t i, const tn_karg *e, int64_t at) {
  tn_karg *out = control_operand(c, c->step->out, i);
  if (!out) return TN_OK;
  const uint32_t v = (uint32_t)(out - c->s->args);
  if (tn_rt_is_sized(&c->s->p->values[v])) {
    const int64_t n = out->rank > 0 ? out->dims[0] : 0;
    if (at >= n)
      return control_fail(c, TN_MISMATCH, "result %u has more than the expected %" PRId64 " iterations", i, n);
    return control_stack(c, i, e, 0, at, n, at == 0);
  }
  if (at == 0) return control_stack(c, i, e, 0, 0, 1, true);
  if (!e || e->kind != TN_KARG_TENSOR || out->rank != e->rank + 1 || out->dtype != e->dtype ||
      memcmp(out->dims + 1, e->dims, (size_t)e->rank * sizeof *e->dims) != 0)
    return control_fail(c, TN_MISMATCH, "result %u changes its shape from one iteration to the next", i);
  tn_rt_block *block = &c->s->blocks[v];
  size_t have, need, cap;
  const bool fits = tn_mul_i64(e->count, at + 1, &out->count) && tn_dtype_bytes(out->dtype, out->count, &need) &&
                    tn_dtype_bytes(out->dtype, out->count - e->count, &have) && tn_add_size(need, need / 2, &cap);
  if (!fits) return control_fail(c, TN_LIMIT, "result %u is too large", i);
  if (need > block->bytes && !tn_rt_grow(c->s, block, cap, have))
    return control_fail(c, TN_OOM, "no memory for %zu bytes of result %u", need, i);
  out->data = block->ptr;
  out->dims[0] = at + 1;
  tn_k_copy(e->dtype, out->data, at * e->count, e->data, 0, e->count);
  return TN_OK;
}

/* State `i` of `n` is parameter `param` and result `result`. After iteration `at` (from 0) its value is in slot at & 1.
 */
static const tn_karg *control_state(const control *c, uint32_t param, int64_t at, const tn_karg *initial) {
  return at == 0 ? initial : &c->state->states[param].slot[(at - 1) & 1].arg;
}

/* Will the result be where it is until the next iteration has ended? Where it was aimed, outside the loop, or when it
 * is the state itself, which nothing else writes. */
static bool control_stays(const control *c, uint32_t param, uint32_t value) {
  const uint32_t root = c->s->flow.root[value];
  const tn_pvalue *x = &c->s->p->values[root];
  return x->region != c->region || x->store == TN_STORE_CONST || tn_rt_is_aimed(c->s, c->region, value) ||
         (int32_t)root == c->s->p->operands[c->body->params.first + param];
}

static tn_status control_keep_state(const control *c, uint32_t param, uint32_t result, int64_t at) {
  tn_rt_state *state = &c->state->states[param];
  tn_rt_item *slot = &state->slot[at & 1];
  const tn_karg *src = control_result(c, result);
  if (!src) return control_fail(c, TN_MISMATCH, "result %u is missing", result);
  const uint32_t value = control_result_value(c, result), root = c->s->flow.root[value];
  const bool is_plain = src->kind == TN_KARG_TENSOR && src->dtype != TN_STR && slot->arg.cap_items == 0;
  if (is_plain && control_stays(c, param, value)) {
    slot->arg = *src;
    return TN_OK;
  }
  tn_rt_block *own = &c->s->blocks[root];
  if (is_plain && c->s->p->values[root].store == TN_STORE_LATE && own->ptr && src->data == own->ptr) {
    const tn_rt_block swapped = *own; /* the value takes what the state had two iterations ago */
    *own = slot->block;
    slot->block = swapped;
    slot->arg = *src;
    return TN_OK;
  }
  const tn_karg *read = &c->s->args[c->s->p->operands[c->body->params.first + param]];
  const bool is_read =
      slot->block.ptr && read->data == slot->block.ptr; /* another state may be made of what was read */
  return tn_rt_assign(c->s, &slot->arg, is_read ? &state->slot[!(at & 1)].block : &slot->block, src, c->err);
}

static tn_status control_loop_iteration(const control *c, bool *condition) {
  const int64_t at = c->at;
  const uint32_t states = c->states;
  tn_karg scalar = {.kind = TN_KARG_TENSOR, .dtype = TN_I64, .count = 1, .data = &c->state->iteration};
  c->state->iteration = at;
  c->state->condition = *condition;
  TN_TRY(control_param(c, 0, &scalar));
  scalar.dtype = TN_BOOL;
  scalar.data = &c->state->condition;
  TN_TRY(control_param(c, 1, &scalar));
  for (uint32_t i = 0; i < states; i++)
    TN_TRY(control_param(c, 2 + i, control_state(c, 2 + i, at, control_in(c, 2 + i))));
  TN_TRY(control_body(c));
  int64_t go_on = 1;
  if (!control_result(c, 0)) return control_fail(c, TN_MISMATCH, "the %s is missing", "condition");
  TN_TRY(control_scalar(c, control_result(c, 0), "condition", &go_on));
  *condition = go_on != 0;
  for (uint32_t i = 0; i < states; i++) TN_TRY(control_keep_state(c, 2 + i, 1 + i, at));
  for (uint32_t i = states; i < c->step->out.n; i++) TN_TRY(control_push(c, i, control_result(c, 1 + i), at));
  return TN_OK;
}

static tn_status control_loop_end(const control *c, int64_t n, uint32_t states) {
  for (uint32_t i = 0; i < states && i < c->step->out.n; i++)
    TN_TRY(control_copy_out(c, i, control_state(c, 2 + i, n, control_in(c, 2 + i))));
  for (uint32_t i = states; i < c->step->out.n; i++) {
    const tn_karg *out = control_operand(c, c->step->out, i);
    if (n == 0) TN_TRY(control_no_elements(c, i, 1 + i, 0));
    if (out && out->rank > 0 && out->dims[0] != n)
      return control_fail(c, TN_MISMATCH, "result %u has %" PRId64 " iterations, expected %" PRId64, i, n,
                          out->dims[0]);
  }
  return TN_OK;
}

static tn_status control_loop(tn_rt_session *s, uint32_t step, tn_error *err) {
  control c = control_of(s, step, 0, err);
  int64_t trips = INT64_MAX, condition = 1;
  c.states = c.step->in.n - 2;
  c.first = 1;
  if (control_in(&c, 0)) TN_TRY(control_scalar(&c, control_in(&c, 0), "trip count", &trips));
  if (control_in(&c, 1)) TN_TRY(control_scalar(&c, control_in(&c, 1), "condition", &condition));
  bool go_on = condition != 0;
  if (trips < INT64_MAX) c.n = trips;
  for (; c.at < trips && go_on; c.at++) TN_TRY(control_loop_iteration(&c, &go_on));
  return control_loop_end(&c, c.at, c.states);
}

static tn_status control_scan_axis(const control *c, uint32_t i, const tn_karg *in, int *out_axis, int64_t *length) {
  int64_t axis = control_int(c, "scan_input_axes", i);
  if (!in || in->kind != TN_KARG_TENSOR) return control_fail(c, TN_MISMATCH, "scan input %u is no tensor", i);
  if (axis < 0) axis += in->rank;
  if (axis < 0 || axis >= in->rank)
    return control_fail(c, TN_MISMATCH, "the axis of scan input %u is outside its rank", i);
  if (*length >= 0 && in->dims[axis] != *length)
    return control_fail(c, TN_MISMATCH, "scan input %u has %" PRId64 " elements, but input 0 has %" PRId64, i,
                        in->dims[axis], *length);
  *length = in->dims[axis];
  *out_axis = (int)axis;
  return TN_OK;
}

/* Slice `at` of scan input i as a parameter: in place where it is contiguous. */
static tn_status control_slice(const control *c, uint32_t param, uint32_t i, const tn_karg *in, int64_t at) {
  tn_rt_item *slot = &c->state->states[param].slot[0];
  int64_t length = -1, outer = 1;
  int axis = 0;
  TN_TRY(control_scan_axis(c, i, in, &axis, &length));
  if (control_int(c, "scan_input_directions", i)) at = length - 1 - at;
  tn_karg slice = *in;
  slice.rank = in->rank - 1;
  for (int d = 0; d < slice.rank; d++) slice.dims[d] = in->dims[d < axis ? d : d + 1];
  for (int d = 0; d < axis; d++) outer *= in->dims[d];
  slice.count = in->count / length;
  const int64_t inner = outer ? slice.count / outer : 0;
  const int bits = tn_dtype_bits(in->dtype);
  if (outer == 1 && bits >= 8) {
    slice.data = (char *)in->data + at * inner * (bits / 8);
    return control_param(c, param, &slice);
  }
  TN_TRY(tn_rt_reserve(c->s, &slice, &slot->block, 0, c->err));
  for (int64_t o = 0; o < outer; o++)
    tn_k_copy(in->dtype, slice.data, o * inner, in->data, (o * length + at) * inner, inner);
  return control_param(c, param, &slice);
}

static tn_status control_scan_iteration(const control *c) {
  const int64_t at = c->at, n = c->n;
  const uint32_t states = c->states;
  for (uint32_t i = 0; i < states; i++) TN_TRY(control_param(c, i, control_state(c, i, at, control_in(c, i))));
  for (uint32_t i = states; i < c->step->in.n; i++) TN_TRY(control_slice(c, i, i - states, control_in(c, i), at));
  TN_TRY(control_body(c));
  for (uint32_t i = 0; i < states; i++) TN_TRY(control_keep_state(c, i, i, at));
  for (uint32_t i = states; i < c->step->out.n; i++) {
    const int64_t axis = control_int(c, "scan_output_axes", i - states);
    TN_TRY(control_stack(c, i, control_result(c, i), axis, control_stack_at(c, i), n, at == 0));
  }
  return TN_OK;
}

static tn_status control_scan(tn_rt_session *s, uint32_t step, tn_error *err) {
  control c = control_of(s, step, 0, err);
  const tn_kattr *scans = control_attr(&c, "num_scan_inputs");
  if (!scans || scans->i < 1 || scans->i > c.step->in.n)
    return control_fail(&c, TN_INVALID, "%s is missing", "num_scan_inputs");
  const uint32_t states = c.step->in.n - (uint32_t)scans->i;
  int64_t n = -1;
  int axis;
  for (uint32_t i = states; i < c.step->in.n; i++)
    TN_TRY(control_scan_axis(&c, i - states, control_in(&c, i), &axis, &n));
  c.states = states;
  c.n = n;
  for (; c.at < n; c.at++) TN_TRY(control_scan_iteration(&c));
  for (uint32_t i = 0; i < states && i < c.step->out.n; i++)
    TN_TRY(control_copy_out(&c, i, control_state(&c, i, n, control_in(&c, i))));
  for (uint32_t i = states; n == 0 && i < c.step->out.n; i++)
    TN_TRY(control_no_elements(&c, i, i, control_int(&c, "scan_output_axes", i - states)));
  return TN_OK;
}

static tn_status control_append(const control *c, uint32_t i, int64_t at) {
  tn_karg *out = control_operand(c, c->step->out, i);
  const tn_karg *src = control_result(c, i);
  if (!out) return TN_OK;
  if (!src || out->kind != TN_KARG_SEQUENCE) return control_fail(c, TN_MISMATCH, "result %u is no sequence", i);
  tn_rt_item *item = tn_rt_item_insert(c->s, out, at);
  if (!item) return control_fail(c, TN_OOM, "no memory for element %" PRId64 " of result %u", at, i);
  return tn_rt_assign(c->s, &item->arg, &item->block, src, c->err);
}

static tn_status control_map(tn_rt_session *s, uint32_t step, tn_error *err) {
  const control c = control_of(s, step, 0, err);
  const tn_karg *first = control_in(&c, 0);
  if (!first || first->kind != TN_KARG_SEQUENCE) return control_fail(&c, TN_MISMATCH, "input %d is no sequence", 0);
  for (int64_t at = 0; at < first->n_items; at++) {
    for (uint32_t i = 0; i < c.step->in.n; i++) {
      const tn_karg *in = control_in(&c, i);
      const bool is_sequence = in && in->kind == TN_KARG_SEQUENCE;
      if (is_sequence && in->n_items != first->n_items)
        return control_fail(&c, TN_MISMATCH, "input %u has %" PRId64 " elements, but input 0 has %" PRId64, i,
                            in->n_items, first->n_items);
      TN_TRY(control_param(&c, i, is_sequence ? in->items[at] : in));
    }
    TN_TRY(control_body(&c));
    for (uint32_t i = 0; i < c.step->out.n; i++) TN_TRY(control_append(&c, i, at));
  }
  return TN_OK;
}

tn_status tn_rt_control(tn_rt_session *s, uint32_t step, tn_error *err) {
  switch ((tn_pstep_kind)s->p->steps[step].kind) {
    case TN_STEP_IF:
      return control_if(s, step, err);
    case TN_STEP_LOOP:
      return control_loop(s, step, err);
    case TN_STEP_SCAN:
      return control_scan(s, step, err);
    case TN_STEP_SEQUENCE_MAP:
      return control_map(s, step, err);
    case TN_STEP_KERNEL:
    case TN_STEP_VIEW:
      break;
  }
  return tn_error_set(err, TN_INTERNAL, "%s: not a control step", s->p->steps[step].label);
}
