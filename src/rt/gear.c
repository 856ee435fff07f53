/* Shapes known beforehand: which gear a run is in, and what happens to a shape that is none. */
#include <inttypes.h>
#include <stdio.h>

#include "rt/session.h"

enum { GEAR_TEXT = 700 };

static const int64_t *gear_row(const tn_program *p, uint32_t gear) {
  return p->gear_sizes + (size_t)gear * p->gear_columns;
}

static int64_t gear_real(const tn_rt_session *s, const tn_pgear_dim *d) {
  return s->gear.inputs[d->input].dims[d->axis];
}

/* Do the sizes of a gear compare so with those of the caller's inputs in every dim? */
static bool gear_is(const tn_rt_session *s, uint32_t gear, bool covers) {
  const int64_t *row = gear_row(s->p, gear);
  for (uint32_t i = 0; i < s->p->n_gear_dims; i++) {
    const tn_pgear_dim *d = &s->p->gear_dims[i];
    const int64_t real = gear_real(s, d);
    if (covers ? row[d->column] < real : row[d->column] != real) return false;
  }
  return true;
}

static int32_t gear_find(const tn_rt_session *s) {
  for (uint32_t g = 0; g < s->p->n_gears; g++)
    if (gear_is(s, g, false)) return (int32_t)g;
  return TN_NO_INDEX;
}

/* Elements, in a gear, of the inputs that it changes. */
static double gear_elements(const tn_rt_session *s, uint32_t gear) {
  double sum = 0;
  const tn_pgear_dim *d = s->p->gear_dims, *end = d + s->p->n_gear_dims;
  while (d < end) {
    const uint32_t input = d->input;
    const tn_karg *arg = &s->gear.inputs[input];
    double n = 1;
    for (int axis = 0; axis < arg->rank; axis++) {
      const bool changes = d < end && d->input == input && (int)d->axis == axis;
      n *= (double)(changes ? gear_row(s->p, gear)[d++->column] : arg->dims[axis]);
    }
    sum += n;
  }
  return sum;
}

/* The covering gear with the fewest elements; of equal ones the first. */
static int32_t gear_cover(const tn_rt_session *s) {
  int32_t best = TN_NO_INDEX;
  double least = 0;
  for (uint32_t g = 0; g < s->p->n_gears; g++) {
    if (!gear_is(s, g, true)) continue;
    const double elements = gear_elements(s, g);
    if (best >= 0 && elements >= least) continue;
    best = (int32_t)g;
    least = elements;
  }
  return best;
}

/* "x[2,3] y[8]": the inputs that gears fix, in a gear, or as they are (TN_NO_INDEX). */
static size_t gear_print(const tn_rt_session *s, int32_t gear, char *out, size_t size) {
  size_t at = 0;
  uint32_t input = UINT32_MAX;
  out[0] = 0;
  for (uint32_t i = 0; i < s->p->n_gear_dims && at + 1 < size; i++) {
    const tn_pgear_dim *d = &s->p->gear_dims[i];
    const int64_t v = gear < 0 ? gear_real(s, d) : gear_row(s->p, (uint32_t)gear)[d->column];
    const int n = d->input == input ? snprintf(out + at, size - at, ",%u:%" PRId64, d->axis, v)
                                    : snprintf(out + at, size - at, "%s%.60s[%u:%" PRId64, i ? "] " : "",
                                               s->p->inputs[d->input].name, d->axis, v);
    input = d->input;
    at += n > 0 ? (size_t)n : 0;
  }
  if (at + 1 < size) at += (size_t)snprintf(out + at, size - at, "]");
  return at < size ? at : size - 1;
}

static tn_status gear_none(const tn_rt_session *s, const char *what, tn_error *err) {
  char is[200], list[GEAR_TEXT];
  size_t at = 0;
  gear_print(s, TN_NO_INDEX, is, sizeof is);
  for (uint32_t g = 0; g < s->p->n_gears && at + 80 < sizeof list; g++) {
    at += (size_t)snprintf(list + at, sizeof list - at, "%s", g ? "; " : "");
    at += gear_print(s, (int32_t)g, list + at, sizeof list - at);
  }
  return tn_error_set(err, TN_MISMATCH, "%s %s (input[dim:size]); the gears are %.*s", is, what, (int)sizeof list,
                      list);
}

static void gear_put(tn_rt_session *s, uint32_t i, const tn_karg *arg) {
  tn_karg *have = &s->args[s->p->inputs[i].value];
  if (arg->kind == TN_KARG_TENSOR &&
      (arg->rank != have->rank || memcmp(arg->dims, have->dims, (size_t)arg->rank * sizeof arg->dims[0]) != 0))
    s->is_bound = false;
  *have = *arg;
}

/* The caller's inputs against the operands of the run. */
static void gear_swap(tn_rt_session *s) {
  for (uint32_t i = 0; i < s->p->n_inputs; i++) {
    tn_karg *const operand = &s->args[s->p->inputs[i].value];
    const tn_karg arg = *operand;
    *operand = s->gear.inputs[i];
    s->gear.inputs[i] = arg;
  }
}

/* What the caller's shapes give: the program's sizes go to gear.slots. */
static tn_status gear_sizes(tn_rt_session *s, tn_error *err) {
  int64_t *const slots = s->slots;
  tn_status status = TN_OK;
  gear_swap(s);
  s->slots = s->gear.slots;
  for (uint32_t i = 0; i < s->p->n_symbols; i++)
    if (s->is_given[i]) s->slots[i] = s->given[i];
  status = tn_rt_segment(s, (uint32_t)s->p->regions[0].segment, err);
  s->slots = slots;
  gear_swap(s);
  return status;
}

/* The first elements along every dim, from one tensor to another of the same rank. */
static void gear_copy(tn_karg *to, const tn_karg *from, const int64_t *dims) {
  int64_t at[TN_K_MAX_RANK] = {0};
  const size_t size = (size_t)tn_dtype_bits(from->dtype) / 8;
  const int last = from->rank - 1;
  for (int d = 0; d < from->rank; d++)
    if (dims[d] == 0) return;
  for (;;) {
    size_t a = 0, b = 0;
    for (int d = 0; d < from->rank; d++) {
      a = a * (size_t)to->dims[d] + (size_t)at[d];
      b = b * (size_t)from->dims[d] + (size_t)at[d];
    }
    const size_t run = last < 0 ? 1 : (size_t)dims[last];
    memcpy((char *)to->data + a * size, (const char *)from->data + b * size, run * size);
    int d = last - 1;
    while (d >= 0 && ++at[d] == dims[d]) at[d--] = 0;
    if (d < 0) return;
  }
}

static tn_status gear_room(tn_rt_session *s, tn_rt_item *item, tn_error *err) {
  if (!tn_dims_count(item->arg.dims, item->arg.rank, &item->arg.count))
    return tn_error_set(err, TN_LIMIT, "a padded input is too large");
  return tn_rt_reserve(s, &item->arg, &item->block, 0, err);
}

/* *d: the input's first dim that gears change, or a later one where it has none; moves past its own. */
static tn_status gear_pad_input(tn_rt_session *s, uint32_t i, const int64_t *row, uint32_t *d, tn_error *err) {
  const tn_karg *real = &s->gear.inputs[i];
  tn_rt_item *padded = &s->gear.padded[i];
  bool is_larger = false;
  void *const data = padded->arg.data;
  padded->arg = *real;
  padded->arg.data = data;
  for (; *d < s->p->n_gear_dims && s->p->gear_dims[*d].input == i; ++*d) {
    const tn_pgear_dim *dim = &s->p->gear_dims[*d];
    padded->arg.dims[dim->axis] = row[dim->column];
    is_larger |= padded->arg.dims[dim->axis] != real->dims[dim->axis];
  }
  if (!is_larger) {
    gear_put(s, i, real);
    return TN_OK;
  }
  size_t bytes;
  TN_TRY(gear_room(s, padded, err));
  if (!tn_dtype_bytes(padded->arg.dtype, padded->arg.count, &bytes))
    return tn_error_set(err, TN_LIMIT, "a padded input is too large");
  memset(padded->arg.data, 0, bytes);
  gear_copy(&padded->arg, real, real->dims);
  gear_put(s, i, &padded->arg);
  return TN_OK;
}

static tn_status gear_pad(tn_rt_session *s, tn_error *err) {
  const int32_t gear = gear_cover(s);
  if (gear < 0) return gear_none(s, "is larger than every gear", err);
  TN_TRY(gear_sizes(s, err));
  uint32_t d = 0;
  for (uint32_t i = 0; i < s->p->n_inputs; i++) TN_TRY(gear_pad_input(s, i, gear_row(s->p, (uint32_t)gear), &d, err));
  s->gear.number = gear;
  s->gear.is_padded = s->gear.is_inside = true;
  return TN_OK;
}

tn_status tn_rt_gear_enter(tn_rt_session *s, tn_error *err) {
  if (s->p->n_gears == 0) return TN_OK;
  const int32_t gear = gear_find(s);
  s->gear.is_padded = false;
  s->gear.number = gear;
  if (s->gear.wanted >= 0 && s->gear.wanted != gear) {
    char what[60];
    snprintf(what, sizeof what, "is not gear %" PRId32, s->gear.wanted);
    return gear_none(s, what, err);
  }
  if (gear < 0 && s->p->gear_miss == TN_PGEAR_EXACT) return gear_none(s, "is no gear", err);
  if (gear < 0 && s->p->gear_miss == TN_PGEAR_PAD) return gear_pad(s, err);
  for (uint32_t i = 0; i < s->p->n_inputs; i++) gear_put(s, i, &s->gear.inputs[i]);
  return TN_OK;
}

static tn_status gear_cut(tn_rt_session *s, uint32_t i, tn_error *err) {
  const uint32_t value = s->p->outputs[i].value;
  const tn_karg *made = &s->args[value];
  const uint32_t *slots = s->p->dim_slots + s->p->values[value].dims.first;
  tn_rt_item *cut = &s->gear.cut[i];
  void *const data = cut->arg.data;
  cut->arg = *made;
  cut->arg.data = data;
  for (int d = 0; d < made->rank; d++) {
    const int64_t n = s->gear.slots[slots[d]];
    if (n < 0 || n > made->dims[d])
      return tn_error_set(err, TN_INTERNAL, "output '%s' dim %d is %" PRId64 " of %" PRId64 " in the padded run",
                          s->p->outputs[i].name, d, n, made->dims[d]);
    cut->arg.dims[d] = n;
  }
  TN_TRY(gear_room(s, cut, err));
  gear_copy(&cut->arg, made, cut->arg.dims);
  return TN_OK;
}

tn_status tn_rt_gear_leave(tn_rt_session *s, tn_error *err) {
  for (uint32_t i = 0; s->gear.is_padded && i < s->p->n_outputs; i++) TN_TRY(gear_cut(s, i, err));
  return TN_OK;
}

tn_status tn_rt_set_gear(tn_rt_session *s, int32_t gear, tn_error *err) {
  if (gear != TN_NO_INDEX && (gear < 0 || (uint32_t)gear >= s->p->n_gears))
    return tn_error_set(err, TN_INVALID, "there is no gear %" PRId32 ": the program has %u", gear, s->p->n_gears);
  s->gear.wanted = gear;
  return TN_OK;
}

int32_t tn_rt_gear(const tn_rt_session *s) { return s->gear.number; }

void tn_rt_gear_drop(tn_rt_session *s) {
  for (uint32_t i = 0; s->p->n_gears && !s->gear.is_inside && i < s->p->n_inputs; i++)
    tn_rt_drop(s, &s->gear.padded[i].block);
  for (uint32_t i = 0; s->p->n_gears && i < s->p->n_outputs; i++) tn_rt_drop(s, &s->gear.cut[i].block);
}
