/* Outputs in the caller's memory. Where an output is the content of a planned buffer, the buffer is moved there for
 * the run; other outputs are copied at its end. */
#include <inttypes.h>

#include "rt/session.h"

tn_status tn_rt_set_output(tn_rt_session *s, uint32_t i, void *data, size_t bytes, tn_error *err) {
  if (i >= s->p->n_outputs)
    return tn_error_set(err, TN_INVALID, "there is no output %u: the model has %u", i, s->p->n_outputs);
  const tn_pio *io = &s->p->outputs[i];
  const tn_pvalue *x = &s->p->values[io->value];
  if (x->kind != 0 || x->dtype == TN_STR)
    return tn_error_set(err, TN_UNSUPPORTED, "output '%s' is %s: memory for it cannot be given", io->name,
                        x->kind != 0 ? "no tensor" : "made of strings");
  const size_t size = (size_t)tn_dtype_bits((tn_dtype)x->dtype) / 8, align = size > 8 ? 8 : size;
  if (data && align > 1 && (uintptr_t)data % align != 0)
    return tn_error_set(err, TN_INVALID, "the memory of output '%s' is not aligned to its elements", io->name);
  tn_rt_user_output *u = &s->user_outputs[i];
  if (u->data == data && u->bytes == bytes) return TN_OK;
  s->n_user_outputs += (u->data == NULL) && data;
  s->n_user_outputs -= u->data && !data;
  s->has_moved_buffers = true; /* to be looked at again */
  *u = (tn_rt_user_output){.data = data, .bytes = bytes};
  return TN_OK;
}

bool tn_rt_output_is_in_place(const tn_rt_session *s, uint32_t i) { return s->user_outputs[i].is_in_place; }

/* Moves the data of all values of a buffer of the main region. */
static void output_shift(tn_rt_session *s, uint32_t buffer, const char *from, char *to) {
  const tn_pspan values = s->regions[0].buffer_values;
  for (uint32_t i = 0; i < values.n; i++) {
    const uint32_t v = s->events[values.first + i];
    if (s->p->values[v].index == buffer) s->args[v].data = to + ((const char *)s->args[v].data - from);
  }
}

static char *output_planned(const tn_rt_session *s, uint32_t buffer) {
  return (char *)s->regions[0].arena.ptr + s->intervals[buffer].offset;
}

void tn_rt_move_buffers_back(tn_rt_session *s) {
  if (!s->has_moved_buffers) return;
  const tn_pspan buffers = s->p->regions[0].buffers;
  for (uint32_t i = 0; i < s->p->n_outputs; i++) s->user_outputs[i].is_in_place = false;
  for (uint32_t b = buffers.first; b < buffers.first + buffers.n; b++) {
    if (s->buffer_base[b]) output_shift(s, b, s->buffer_base[b], output_planned(s, b));
    s->buffer_base[b] = NULL;
  }
  s->has_moved_buffers = false;
}

static bool output_overlaps(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return x < y + b_bytes && y < x + a_bytes;
}

/* Memory that a run reads, or that another output is in, cannot be written before the end. */
static bool output_is_free(const tn_rt_session *s, uint32_t i) {
  const tn_rt_user_output *u = &s->user_outputs[i];
  for (uint32_t j = 0; j < s->p->n_inputs; j++) {
    const tn_karg *a = &s->args[s->p->inputs[j].value];
    size_t bytes;
    if (a->kind != TN_KARG_TENSOR) return false;
    if (!tn_dtype_bytes(a->dtype, a->count, &bytes) || output_overlaps(u->data, u->bytes, a->data, bytes)) return false;
  }
  for (uint32_t j = 0; j < s->p->n_outputs; j++) {
    const tn_rt_user_output *other = &s->user_outputs[j];
    if (j != i && other->data && output_overlaps(u->data, u->bytes, other->data, other->bytes)) return false;
  }
  return true;
}

/* Does the output have the bytes of the whole buffered value? Else it is a part of it, perhaps not the first. */
static bool output_is_whole(const tn_rt_session *s, uint32_t value, uint32_t root) {
  const tn_pvalue *x = &s->p->values[value];
  int64_t count = 1;
  if (value == root) return true;
  if (x->store != TN_STORE_VIEW || !tn_rt_is_sized(x) || x->dtype != s->p->values[root].dtype) return false;
  for (uint32_t d = 0; d < x->dims.n; d++)
    if (!tn_mul_i64(count, s->slots[s->p->dim_slots[x->dims.first + d]], &count)) return false;
  return count == s->args[root].count;
}

/* Regions inside place their values themselves. */
static bool output_is_shared(const tn_rt_session *s, uint32_t buffer) {
  for (uint32_t v = 0; v < s->p->n_values; v++)
    if (s->p->values[v].store == TN_STORE_BUFFER && s->p->values[v].index == buffer && s->p->values[v].region != 0)
      return true;
  return false;
}

static tn_status output_small(const tn_rt_session *s, uint32_t i, size_t bytes, tn_error *err) {
  return tn_error_set(err, TN_MISMATCH, "output '%s' needs %zu bytes, its memory has %zu", s->p->outputs[i].name, bytes,
                      s->user_outputs[i].bytes);
}

static tn_status output_move(tn_rt_session *s, uint32_t i, tn_error *err) {
  tn_rt_user_output *u = &s->user_outputs[i];
  const uint32_t root = s->flow.root[s->p->outputs[i].value];
  const tn_pvalue *x = &s->p->values[root];
  const uint32_t buffer = (uint32_t)x->index;
  if (!u->data || x->store != TN_STORE_BUFFER || x->region != 0) return TN_OK;
  if (!output_is_whole(s, s->p->outputs[i].value, root) || output_is_shared(s, buffer)) return TN_OK;
  size_t bytes;
  if (!tn_dtype_bytes(s->args[root].dtype, s->args[root].count, &bytes)) return TN_OK;
  if (bytes > u->bytes) return output_small(s, i, bytes, err);
  if (s->buffer_base[buffer] || !output_is_free(s, i)) return TN_OK;
  const tn_pspan values = s->regions[0].buffer_values;
  char *const planned = output_planned(s, buffer);
  if (s->args[root].data != planned) return TN_OK; /* a part of something larger */
  for (uint32_t j = 0; j < values.n; j++) {
    const uint32_t v = s->events[values.first + j];
    if (s->p->values[v].index != buffer) continue;
    const size_t at = (size_t)((char *)s->args[v].data - planned);
    if (!tn_dtype_bytes(s->args[v].dtype, s->args[v].count, &bytes) || at > u->bytes || bytes > u->bytes - at)
      return TN_OK; /* an earlier value of the buffer is larger */
  }
  output_shift(s, buffer, planned, u->data);
  s->buffer_base[buffer] = u->data;
  u->is_in_place = s->has_moved_buffers = true;
  return TN_OK;
}

tn_status tn_rt_move_buffers(tn_rt_session *s, tn_error *err) {
  if (s->n_user_outputs == 0 || s->gear.is_padded) return TN_OK;
  for (uint32_t i = 0; i < s->p->n_outputs; i++) TN_TRY(output_move(s, i, err));
  return TN_OK;
}

tn_status tn_rt_copy_outputs(tn_rt_session *s, tn_error *err) {
  for (uint32_t i = 0; i < s->p->n_outputs; i++) {
    tn_rt_user_output *u = &s->user_outputs[i];
    const tn_karg *a = tn_rt_made(s, i);
    size_t bytes;
    u->is_copied = false;
    if (!u->data || u->is_in_place) continue;
    if (!tn_dtype_bytes(a->dtype, a->count, &bytes) || bytes > u->bytes) return output_small(s, i, bytes, err);
    memmove(u->data, a->data, bytes);
    u->arg = *a;
    u->arg.data = u->data;
    u->is_copied = true;
  }
  return TN_OK;
}
