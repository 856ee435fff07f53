/* Inputs from the caller: checked here for all that needs no other input. */
#include <inttypes.h>

#include "rt/session.h"

static tn_status input_type(const tn_pio *io, const tn_pvalue *x, const tn_karg *arg, tn_error *err) {
  static const char *const kinds[] = {"a tensor", "a sequence", "an optional", "a map"};
  if ((uint8_t)arg->kind != x->kind)
    return tn_error_set(err, TN_MISMATCH, "input '%s' is %s, expected %s (%s)", io->name,
                        arg->kind <= TN_KARG_MAP ? kinds[arg->kind] : "of no known kind", kinds[x->kind],
                        io->type_text);
  if (arg->kind == TN_KARG_TENSOR && !tn_dtype_valid((int)arg->dtype))
    return tn_error_set(err, TN_INVALID, "input '%s' has no element type", io->name);
  if (x->kind == 0 && (uint8_t)arg->dtype != x->dtype)
    return tn_error_set(err, TN_MISMATCH, "input '%s' is %s, expected %s (%s)", io->name, tn_dtype_name(arg->dtype),
                        tn_dtype_name((tn_dtype)x->dtype), io->type_text);
  return TN_OK;
}

/* A tensor as the caller describes it; fills in the count. */
static tn_status input_tensor(const char *name, tn_karg *a, tn_error *err) {
  size_t bytes;
  const size_t size = (size_t)tn_dtype_bits(a->dtype) / 8, align = size > 8 ? 8 : size;
  if (a->rank < 0 || a->rank > TN_K_MAX_RANK)
    return tn_error_set(err, TN_INVALID, "input '%s' has rank %d, expected 0 to %d", name, a->rank, TN_K_MAX_RANK);
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] < 0) return tn_error_set(err, TN_INVALID, "input '%s' dim %d is %" PRId64, name, d, a->dims[d]);
  if (!tn_dims_count(a->dims, a->rank, &a->count) || !tn_dtype_bytes(a->dtype, a->count, &bytes))
    return tn_error_set(err, TN_LIMIT, "input '%s' is too large", name);
  if (bytes > 0 && !a->data) return tn_error_set(err, TN_INVALID, "input '%s' has no data", name);
  if (bytes > 0 && align > 1 && (uintptr_t)a->data % align != 0)
    return tn_error_set(err, TN_INVALID, "the data of input '%s' is not aligned to its elements", name);
  return TN_OK;
}

static bool input_is_map(const tn_karg *m) {
  if (m->n_items != 2 || !m->items || !m->items[0] || !m->items[1]) return false;
  for (int i = 0; i < 2; i++)
    if (m->items[i]->kind != TN_KARG_TENSOR || m->items[i]->rank != 1) return false;
  return m->items[0]->dims[0] == m->items[1]->dims[0];
}

static tn_status input_items(const char *name, const tn_karg *seq, tn_dtype dtype, int depth, tn_error *err) {
  if (depth > TN_RT_MAX_NESTING) return tn_error_set(err, TN_LIMIT, "input '%s' is nested too deeply", name);
  if (seq->n_items < 0 || (seq->n_items > 0 && !seq->items) || (seq->kind == TN_KARG_OPTIONAL && seq->n_items > 1))
    return tn_error_set(err, TN_INVALID, "input '%s' has %" PRId64 " elements", name, seq->n_items);
  if (seq->kind == TN_KARG_MAP && !input_is_map(seq))
    return tn_error_set(err, TN_INVALID, "input '%s' is a map whose keys and values are not two vectors of one length",
                        name);
  for (int64_t i = 0; i < seq->n_items; i++) {
    const tn_karg *item = seq->items[i];
    if (!item) return tn_error_set(err, TN_INVALID, "input '%s' element %" PRId64 " is missing", name, i);
    if (item->kind != TN_KARG_TENSOR) {
      TN_TRY(input_items(name, item, dtype, depth + 1, err));
      continue;
    }
    tn_karg copy = *item;
    if (!tn_dtype_valid((int)item->dtype) || (dtype != TN_DTYPE_NONE && item->dtype != dtype))
      return tn_error_set(err, TN_MISMATCH, "input '%s' element %" PRId64 " is %s, expected %s", name, i,
                          tn_dtype_valid((int)item->dtype) ? tn_dtype_name(item->dtype) : "of no type",
                          tn_dtype_name(dtype));
    TN_TRY(input_tensor(name, &copy, err));
    if (copy.count != item->count)
      return tn_error_set(err, TN_INVALID,
                          "input '%s' element %" PRId64 " says %" PRId64 " elements, its dims %" PRId64, name, i,
                          item->count, copy.count);
  }
  return TN_OK;
}

/* Rank and the dims that no symbol can change. */
static tn_status input_dims(const tn_rt_session *s, const tn_pio *io, const tn_pvalue *x, const tn_karg *a,
                            tn_error *err) {
  if (x->rank >= 0 && a->rank != x->rank)
    return tn_error_set(err, TN_MISMATCH, "input '%s' has rank %d, expected %d (%s)", io->name, a->rank, x->rank,
                        io->type_text);
  for (uint32_t d = 0; d < x->dims.n; d++) {
    const uint32_t slot = s->p->dim_slots[x->dims.first + d];
    if (s->flow.slot_is_const[slot] && s->flow.slot_const[slot] != a->dims[d])
      return tn_error_set(err, TN_MISMATCH, "input '%s' dim %u is %" PRId64 ", expected %" PRId64 " (%s)", io->name, d,
                          a->dims[d], s->flow.slot_const[slot], io->type_text);
  }
  return TN_OK;
}

tn_status tn_rt_set_input(tn_rt_session *s, uint32_t i, const tn_karg *arg, tn_error *err) {
  if (i >= s->p->n_inputs)
    return tn_error_set(err, TN_INVALID, "there is no input %u: the model has %u", i, s->p->n_inputs);
  const tn_pio *io = &s->p->inputs[i];
  const tn_pvalue *x = &s->p->values[io->value];
  tn_karg *have = s->p->n_gears ? &s->gear.inputs[i] : &s->args[io->value];
  static char nothing[64]; /* data of tensors without elements is never NULL */
  TN_TRY(input_type(io, x, arg, err));
  tn_karg a = *arg;
  a.is_const = a.is_late = false;
  if (a.kind == TN_KARG_TENSOR) {
    TN_TRY(input_tensor(io->name, &a, err));
    TN_TRY(input_dims(s, io, x, &a, err));
    if (!a.data) a.data = nothing;
    if (!s->is_set[i] || a.rank != have->rank || memcmp(a.dims, have->dims, (size_t)a.rank * sizeof a.dims[0]) != 0)
      s->is_bound = false;
  } else {
    TN_TRY(input_items(io->name, &a, (tn_dtype)x->dtype, 0, err));
  }
  *have = a;
  s->links[i].is_kept = false;
  s->is_set[i] = 1;
  return TN_OK;
}
