/* Verification of each table of a program alone; what must hold between them is in flow.c. */
#include "code/flow.h"

enum { VERIFY_MAX_OPERANDS = 65535, VERIFY_MAX_SHAPE_ELEMS = 1 << 24 };

typedef struct verifier {
  const tn_program *p;
  tn_flow *f;
  tn_error *err;
} verifier;

#define verify_fail(v, ...) tn_error_set((v)->err, TN_INVALID, "program: " __VA_ARGS__)

static tn_status verify_symbols(const verifier *v) {
  const tn_program *p = v->p;
  if (p->n_symbols > p->n_slots) return verify_fail(v, "more symbols than slots");
  for (uint32_t i = 0; i < p->n_symbols; i++) {
    const tn_psymbol *s = &p->symbols[i];
    if (!s->name) return verify_fail(v, "symbol %u has no name", i);
    if (s->min > s->max || s->multiple_of < 1) return verify_fail(v, "symbol %u has no possible value", i);
  }
  return TN_OK;
}

static tn_status verify_binds(const verifier *v) {
  const tn_program *p = v->p;
  for (uint32_t i = 0; i < p->n_binds; i++) {
    const tn_pbind *b = &p->binds[i];
    if (b->slot >= p->n_slots || b->value >= p->n_values) return verify_fail(v, "bind %u is out of range", i);
    if (p->values[b->value].kind != 0) return verify_fail(v, "bind %u reads what is no tensor", i);
    if (b->is_elem > 1 || b->index < 0 || (!b->is_elem && b->index >= TN_PROGRAM_MAX_RANK))
      return verify_fail(v, "bind %u reads element %lld", i, (long long)b->index);
    if (b->is_elem && p->values[b->value].dtype == TN_STR) return verify_fail(v, "bind %u reads a string", i);
    v->f->slot_writers[b->slot]++;
  }
  return TN_OK;
}

static tn_status verify_code(const verifier *v) {
  const tn_program *p = v->p;
  for (uint32_t i = 0; i < p->n_code; i++) {
    const tn_shape_ins *c = &p->code[i];
    if (c->op >= TN_N_SHAPE_OPS) return verify_fail(v, "instruction %u has an unknown opcode", i);
    if (c->dst >= p->n_slots || c->a >= p->n_slots || c->b >= p->n_slots)
      return verify_fail(v, "instruction %u names a slot that is not there", i);
    if (tn_shape_rows[c->op].operands == 3 && (c->imm < 0 || c->imm >= p->n_slots))
      return verify_fail(v, "instruction %u names a slot that is not there", i);
    if (c->op == TN_SHAPE_JUMPZ) continue;
    v->f->slot_writers[c->dst]++;
    v->f->slot_is_const[c->dst] = c->op == TN_SHAPE_CONST;
    v->f->slot_const[c->dst] = c->op == TN_SHAPE_CONST ? c->imm : 0;
  }
  for (uint32_t s = 0; s < p->n_slots; s++) {
    if (v->f->slot_writers[s] != 1) v->f->slot_is_const[s] = 0;
    v->f->slot_is_free[s] = v->f->slot_writers[s] == 0;
    if (v->f->slot_is_free[s] && s >= p->n_symbols) return verify_fail(v, "nothing writes slot %u", s);
  }
  return TN_OK;
}

static tn_status verify_checks(const verifier *v) {
  const tn_program *p = v->p;
  for (uint32_t i = 0; i < p->n_checks; i++)
    if (p->checks[i].slot >= p->n_slots || !p->checks[i].text) return verify_fail(v, "check %u is out of range", i);
  for (uint32_t i = 0; i < p->n_segments; i++) {
    const tn_psegment *s = &p->segments[i];
    if (!tn_pspan_ok(s->binds, p->n_binds) || !tn_pspan_ok(s->code, p->n_code) || !tn_pspan_ok(s->checks, p->n_checks))
      return verify_fail(v, "segment %u is out of range", i);
  }
  for (uint32_t i = 0; i < p->n_dim_slots; i++)
    if (p->dim_slots[i] >= p->n_slots) return verify_fail(v, "dim %u is out of range", i);
  return TN_OK;
}

/* CONST: the bytes are those of the dims. */
static tn_status verify_const(const verifier *v, uint32_t i) {
  const tn_program *p = v->p;
  const tn_pvalue *x = &p->values[i];
  int64_t dims[TN_PROGRAM_MAX_RANK] = {0}, count;
  size_t bytes;
  if (x->rank < 0 || (uint32_t)x->rank != x->dims.n) return verify_fail(v, "constant '%s' has no dims", x->name);
  for (uint32_t d = 0; d < x->dims.n; d++) {
    const uint32_t slot = p->dim_slots[x->dims.first + d];
    if (!v->f->slot_is_const[slot]) return verify_fail(v, "constant '%s' has dims that are not constant", x->name);
    dims[d] = v->f->slot_const[slot];
  }
  if (!tn_dims_count(dims, x->rank, &count) || !tn_dtype_bytes((tn_dtype)x->dtype, count, &bytes))
    return verify_fail(v, "constant '%s' is too large", x->name);
  if (bytes != x->bytes)
    return verify_fail(v, "constant '%s' has %llu bytes, its dims need %zu", x->name, (unsigned long long)x->bytes,
                       bytes);
  if (bytes == 0 || (p->external && p->external[i])) return TN_OK;
  if (x->dtype == TN_STR || !p->weights || x->offset > p->weights_bytes || bytes > p->weights_bytes - x->offset)
    return verify_fail(v, "constant '%s' lies outside the weights", x->name);
  return TN_OK;
}

static tn_status verify_shape(const verifier *v, const tn_pvalue *x) {
  const tn_dtype d = (tn_dtype)x->dtype;
  const tn_dtype_class c = tn_dtype_cls(d);
  if (c != TN_CLASS_INT && c != TN_CLASS_UINT && c != TN_CLASS_BOOL && c != TN_CLASS_FLOAT)
    return verify_fail(v, "value '%s' is made of integers, but is %s", x->name, tn_dtype_name(d));
  return TN_OK;
}

static tn_status verify_value(const verifier *v, uint32_t i) {
  const tn_program *p = v->p;
  const tn_pvalue *x = &p->values[i];
  if (!x->name) return verify_fail(v, "value %u has no name", i);
  if (x->kind > 3 || x->store > TN_STORE_SHAPE || x->region >= p->n_regions)
    return verify_fail(v, "value '%s' is malformed", x->name);
  if (x->dtype != 0 ? !tn_dtype_valid(x->dtype) || !tn_dtype_name((tn_dtype)x->dtype) : x->kind == 0)
    return verify_fail(v, "value '%s' has no element type", x->name);
  if (x->rank < -1 || x->rank > TN_PROGRAM_MAX_RANK) return verify_fail(v, "value '%s' has rank %d", x->name, x->rank);
  if (!tn_pspan_ok(x->dims, p->n_dim_slots) || !tn_pspan_ok(x->shape_elems, p->n_dim_slots))
    return verify_fail(v, "the dims of value '%s' are out of range", x->name);
  const bool has_dims = x->rank >= 0 && x->dims.n == (uint32_t)x->rank;
  if (x->dims.n != 0 && !has_dims)
    return verify_fail(v, "value '%s' has %u dims and rank %d", x->name, x->dims.n, x->rank);
  if (x->kind != 0 && x->store != TN_STORE_INPUT && x->store != TN_STORE_PARAM && x->store != TN_STORE_LATE)
    return verify_fail(v, "value '%s' is no tensor and cannot be stored so", x->name);
  if (x->kind != 0 && x->rank != -1) return verify_fail(v, "value '%s' is no tensor and has a rank", x->name);
  const uint32_t most_part = x->store == TN_STORE_VIEW ? p->n_slots : x->store == TN_STORE_BUFFER ? p->n_operands : 0;
  if (x->part > most_part || (x->part && (!has_dims || tn_dtype_bits((tn_dtype)x->dtype) % 8)))
    return verify_fail(v, "value '%s' is no part", x->name);
  switch ((tn_pstore)x->store) {
    case TN_STORE_CONST:
      return verify_const(v, i);
    case TN_STORE_INPUT:
      if (x->region != 0 || x->index < 0 || x->index >= p->n_inputs || p->inputs[x->index].value != i)
        return verify_fail(v, "value '%s' is no input", x->name);
      return TN_OK;
    case TN_STORE_BUFFER:
      if (!has_dims || x->index < 0 || x->index >= p->n_buffers)
        return verify_fail(v, "value '%s' has no buffer", x->name);
      return TN_OK;
    case TN_STORE_VIEW:
      if (x->index < 0 || x->index >= i) return verify_fail(v, "value '%s' is a view of a later one", x->name);
      if (p->values[x->index].kind != 0) return verify_fail(v, "value '%s' is a view of what is no tensor", x->name);
      if (x->part && x->dtype != p->values[x->index].dtype)
        return verify_fail(v, "value '%s' is a part of another type", x->name);
      return TN_OK;
    case TN_STORE_SHAPE:
      return has_dims ? verify_shape(v, x) : verify_fail(v, "value '%s' has no dims", x->name);
    case TN_STORE_PARAM:
    case TN_STORE_LATE:
      break;
  }
  return TN_OK;
}

static tn_status verify_values(const verifier *v) {
  uint64_t elems = 0;
  for (uint32_t i = 0; i < v->p->n_values; i++) {
    TN_TRY(verify_value(v, i));
    elems += v->p->values[i].shape_elems.n;
    if (elems > VERIFY_MAX_SHAPE_ELEMS) return verify_fail(v, "too many shape elements");
  }
  for (uint32_t i = 0; i < v->p->n_buffers; i++) {
    const tn_pbuffer *b = &v->p->buffers[i];
    if (b->region >= v->p->n_regions || b->first > b->last || b->value >= v->p->n_values ||
        v->p->values[b->value].store != TN_STORE_BUFFER || v->p->values[b->value].index != i ||
        b->bytes > v->p->n_slots)
      return verify_fail(v, "buffer %u is malformed", i);
  }
  return TN_OK;
}

static bool verify_attr_list(const tn_program *p, const tn_pattr *a) {
  switch ((tn_pattr_kind)a->kind) {
    case TN_PATTR_INT:
    case TN_PATTR_FLOAT:
      return true;
    case TN_PATTR_STR:
      return a->s.ptr != NULL || a->s.len == 0;
    case TN_PATTR_INTS:
      return tn_pspan_ok(a->list, p->n_ints);
    case TN_PATTR_FLOATS:
      return tn_pspan_ok(a->list, p->n_floats);
    case TN_PATTR_STRS:
      return tn_pspan_ok(a->list, p->n_strings);
    case TN_PATTR_TENSOR:
      return a->value < p->n_values && p->values[a->value].store == TN_STORE_CONST;
  }
  return false;
}

static tn_status verify_attrs(const verifier *v) {
  for (uint32_t i = 0; i < v->p->n_attrs; i++) {
    const tn_pattr *a = &v->p->attrs[i];
    if (!a->name) return verify_fail(v, "attribute %u has no name", i);
    if (!verify_attr_list(v->p, a)) return verify_fail(v, "attribute %u, %s, is malformed", i, a->name);
  }
  return TN_OK;
}

/* Operands may not be shared between lists, so that walking all lists is linear. */
static tn_status verify_lists(const verifier *v) {
  const tn_program *p = v->p;
  uint64_t operands = 0, attrs = 0;
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const tn_pstep *s = &p->steps[i];
    if (!tn_pspan_ok(s->in, p->n_operands) || !tn_pspan_ok(s->out, p->n_operands) ||
        !tn_pspan_ok(s->regions, p->n_operands) || !tn_pspan_ok(s->attrs, p->n_attrs))
      return verify_fail(v, "step %u is out of range", i);
    if (s->in.n > VERIFY_MAX_OPERANDS || s->out.n > VERIFY_MAX_OPERANDS)
      return verify_fail(v, "step %u has too many operands", i);
    operands += (uint64_t)s->in.n + s->out.n + s->regions.n;
    attrs += s->attrs.n;
  }
  for (uint32_t i = 0; i < p->n_regions; i++) {
    const tn_pregion *r = &p->regions[i];
    if (!tn_pspan_ok(r->params, p->n_operands) || !tn_pspan_ok(r->results, p->n_operands) ||
        !tn_pspan_ok(r->steps, p->n_steps) || !tn_pspan_ok(r->values, p->n_values) ||
        !tn_pspan_ok(r->buffers, p->n_buffers) || r->segment >= p->n_segments)
      return verify_fail(v, "region %u is out of range", i);
    operands += (uint64_t)r->params.n + r->results.n;
  }
  if (operands > p->n_operands || attrs > p->n_attrs) return verify_fail(v, "lists share their elements");
  return TN_OK;
}

static bool verify_is_paddable(const tn_pvalue *x) {
  return x->kind == 0 && x->rank >= 0 && x->dims.n == (uint32_t)x->rank && x->dtype != TN_STR &&
         tn_dtype_bits((tn_dtype)x->dtype) >= 8;
}

/* Padding copies whole elements of tensors whose dims are known. */
static tn_status verify_padding(const verifier *v) {
  const tn_program *p = v->p;
  if (p->gear_miss != TN_PGEAR_PAD) return TN_OK;
  for (uint32_t i = 0; i < p->n_gear_dims; i++)
    if (!verify_is_paddable(&p->values[p->inputs[p->gear_dims[i].input].value]))
      return verify_fail(v, "gear dim %u cannot be padded", i);
  for (uint32_t i = 0; i < p->n_outputs; i++)
    if (!verify_is_paddable(&p->values[p->outputs[i].value])) return verify_fail(v, "output %u cannot be cut", i);
  return TN_OK;
}

static tn_status verify_gears(const verifier *v) {
  const tn_program *p = v->p;
  uint64_t row = p->gear_columns;
  if (p->n_gears == 0)
    return p->n_gear_dims || p->n_gear_sizes || p->gear_miss || p->gear_columns ? verify_fail(v, "there are no gears")
                                                                                : TN_OK;
  if (p->gear_miss > TN_PGEAR_PAD || p->gear_columns == 0) return verify_fail(v, "the gears are malformed");
  for (uint32_t i = 0; i < p->n_gear_dims; i++) {
    const tn_pgear_dim *d = &p->gear_dims[i];
    if (d->input >= p->n_inputs || d->column >= p->gear_columns)
      return verify_fail(v, "gear dim %u is out of range", i);
    const tn_pvalue *x = &p->values[p->inputs[d->input].value];
    if (x->kind != 0 || x->rank < 0 || d->axis >= (uint32_t)x->rank)
      return verify_fail(v, "gear dim %u is out of range", i);
    if (i && (d[-1].input > d->input || (d[-1].input == d->input && d[-1].axis >= d->axis)))
      return verify_fail(v, "gear dim %u is out of order", i);
  }
  for (uint32_t i = 0; i < p->n_outputs; i++) {
    const tn_pvalue *x = &p->values[p->outputs[i].value];
    row += x->rank > 0 ? (uint64_t)x->rank : 0;
  }
  TN_TRY(verify_padding(v));
  if (row > p->n_gear_sizes || p->n_gear_sizes != row * p->n_gears) return verify_fail(v, "the gears are malformed");
  for (uint64_t i = 0; i < p->n_gear_sizes; i++)
    if (p->gear_sizes[i] < (i < (uint64_t)p->n_gears * p->gear_columns ? 1 : -1))
      return verify_fail(v, "a gear has a size of %lld", (long long)p->gear_sizes[i]);
  return TN_OK;
}

static tn_status verify_steps(const verifier *v) {
  const tn_program *p = v->p;
  for (uint32_t i = 0; i < p->n_steps; i++) {
    const tn_pstep *s = &p->steps[i];
    if (s->kind > TN_STEP_SEQUENCE_MAP) return verify_fail(v, "step %u is of no known kind", i);
    if (!s->label || (s->kind == TN_STEP_KERNEL && !s->kernel)) return verify_fail(v, "step %u has no name", i);
    if (s->segment != TN_NO_INDEX && (s->segment < 0 || (uint32_t)s->segment >= p->n_segments))
      return verify_fail(v, "step %u is out of range", i);
  }
  for (uint32_t i = 0; i < p->n_inputs; i++) {
    const tn_pio *io = &p->inputs[i];
    if (!io->name || !io->type_text || io->value >= p->n_values || p->values[io->value].store != TN_STORE_INPUT ||
        p->values[io->value].index != i)
      return verify_fail(v, "input %u is malformed", i);
  }
  for (uint32_t i = 0; i < p->n_outputs; i++) {
    const tn_pio *io = &p->outputs[i];
    if (!io->name || !io->type_text || io->value >= p->n_values) return verify_fail(v, "output %u is malformed", i);
  }
  return TN_OK;
}

tn_status tn_program_verify_tables(const tn_program *p, tn_flow *f, tn_error *err) {
  const verifier v = {p, f, err};
  if (p->n_regions == 0) return verify_fail(&v, "no main region");
  TN_TRY(verify_symbols(&v));
  TN_TRY(verify_binds(&v));
  TN_TRY(verify_code(&v));
  TN_TRY(verify_checks(&v));
  TN_TRY(verify_lists(&v));
  TN_TRY(verify_steps(&v));
  TN_TRY(verify_attrs(&v));
  TN_TRY(verify_values(&v));
  return verify_gears(&v);
}
