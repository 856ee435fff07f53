/* Dropout. */
#include "base/mt.h"
#include "base/rng.h"
#include "kern/move.h"

TN_KERNEL(dropout, TN_K_SIZES) {
  TN_TRY(tn_k_same_type(k, 1, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const ratio_in = tn_k_in(k, 1);
  const tn_karg *const training = tn_k_in(k, 2);
  const tn_kattr *const seed_attr = tn_k_attr(k, "seed");
  tn_karg *const mask = tn_k_outp(k, 1);
  if (!tn_dtype_is_float(x->dtype) || (ratio_in && !tn_dtype_is_float(ratio_in->dtype))) return tn_k_no_dtype(k, 0);
  TN_TRY(tn_k_out_type(k, 1, TN_BOOL));
  TN_TRY(tn_k_out(k, 0, x->rank, x->dims));
  TN_TRY(tn_k_out(k, 1, x->rank, x->dims));
  const double ratio = ratio_in && ratio_in->count > 0 ? tn_load_f64(ratio_in->dtype, ratio_in->data, 0) : 0.5;
  const bool drops = training && training->count > 0 && tn_k_i64(training, 0) != 0 && ratio > 0;
  if (drops && !(ratio < 1)) return tn_k_fail(k, TN_INVALID, "ratio %g is not below 1", ratio);
  if (!drops) {
    if (mask && mask->count > 0) memset(mask->data, 1, (size_t)mask->count);
    return tn_k_out_copy(k, 0, x);
  }
  tn_mt random;
  if (seed_attr) tn_mt_init(&random, (uint32_t)seed_attr->i);
  for (int64_t i = 0; i < x->count; i++) {
    const bool keep = (seed_attr ? tn_mt_f64(&random) : tn_rng_f64(k->seed, (uint64_t)i)) >= ratio;
    if (mask) ((uint8_t *)mask->data)[i] = keep;
    tn_store_f64(x->dtype, k->out[0]->data, i, keep ? tn_load_f64(x->dtype, x->data, i) / (1 - ratio) : 0);
  }
  return TN_OK;
}
