/* Converted copies of operands. */
#include "kern/shadow.h"

#include <string.h>

tn_status tn_k_scratch_array(tn_kcall *k, int64_t n, size_t size, void **out) {
  size_t bytes;
  if (n < 0 || !tn_mul_size((size_t)n, size, &bytes)) return tn_k_fail(k, TN_LIMIT, "working memory does not fit");
  return tn_k_scratch(k, bytes, out);
}

/* A copy of `a`'s description with element type `work` and its own memory. */
static tn_status shadow_arg(tn_kcall *k, tn_dtype work, const tn_karg *a, tn_karg **out) {
  void *room;
  TN_TRY(tn_k_scratch_array(k, 1, sizeof(tn_karg), &room));
  tn_karg *copy = room;
  *copy = *a;
  copy->dtype = work;
  TN_TRY(tn_k_scratch_array(k, a->count + 1, (size_t)tn_dtype_bits(work) / 8, &copy->data));
  *out = copy;
  return TN_OK;
}

static bool shadow_needed(const tn_karg *a, tn_dtype work) {
  return a && a->kind == TN_KARG_TENSOR && tn_dtype_is_float(a->dtype) && a->dtype != work;
}

tn_status tn_k_as(tn_kcall *k, tn_dtype work, tn_kernel_fn fn) {
  void *room;
  TN_TRY(tn_k_scratch_array(k, k->n_in + k->n_out, sizeof(tn_karg *), &room));
  tn_karg **args = room;
  tn_karg **outs = args + k->n_in;
  for (int i = 0; i < k->n_in; i++) {
    const tn_karg *a = k->in[i];
    tn_karg *copy = NULL;
    if (shadow_needed(a, work)) {
      TN_TRY(shadow_arg(k, work, a, &copy));
      if (!tn_convert(work, copy->data, a->dtype, a->data, a->count, true)) return tn_k_no_dtype(k, i);
    } else if (a) {
      TN_TRY(tn_k_scratch_array(k, 1, sizeof(tn_karg), &room));
      copy = room;
      *copy = *a;
    }
    args[i] = copy;
  }
  for (int i = 0; i < k->n_out; i++) {
    outs[i] = k->out[i];
    if (shadow_needed(k->out[i], work)) TN_TRY(shadow_arg(k, work, k->out[i], &outs[i]));
  }
  tn_kcall call = *k;
  call.in = (const tn_karg *const *)args;
  call.out = outs;
  TN_TRY(fn(&call));
  for (int i = 0; i < k->n_out; i++) {
    tn_karg *o = k->out[i];
    if (outs[i] != o && !tn_convert(o->dtype, o->data, work, outs[i]->data, o->count, true))
      return tn_k_fail(k, TN_UNSUPPORTED, "element type %s of output %d", tn_dtype_name(o->dtype), i);
  }
  return TN_OK;
}

static bool shadow_is_uniform(const tn_kcall *k, tn_dtype d) {
  for (int i = 0; i < k->n_in; i++)
    if (shadow_needed(k->in[i], d)) return false;
  for (int i = 0; i < k->n_out; i++)
    if (shadow_needed(k->out[i], d)) return false;
  return true;
}

tn_status tn_k_by_float(tn_kcall *k, tn_kernel_fn f32, tn_kernel_fn f64) {
  switch (k->in[0]->dtype) {
    case TN_F32:
      return shadow_is_uniform(k, TN_F32) ? f32(k) : tn_k_as(k, TN_F32, f32);
    case TN_F64:
      return shadow_is_uniform(k, TN_F64) ? f64(k) : tn_k_as(k, TN_F64, f64);
    case TN_F16:
    case TN_BF16:
      return tn_k_as(k, TN_F32, f32);
    default:
      return tn_k_no_dtype(k, 0);
  }
}
