/* Operands with given values, for kernels that move elements. */
#ifndef TN_TEST_MOVE_CALL_H
#define TN_TEST_MOVE_CALL_H

#include "nn_call.h"

#define V(...) ((const double[]){__VA_ARGS__})
#define DIMS(...) ((int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))), ((int64_t[]){__VA_ARGS__})

TEST_UNUSED static tn_karg *move_in(nn_call *c, tn_dtype d, int rank, const int64_t *dims, const double *v) {
  tn_karg *a = nn_in(c, d, rank, dims);
  for (int64_t i = 0; i < a->count; i++) tn_store_f64(d, a->data, i, v[i]);
  return a;
}
/* Makes an output one whose size the kernel decides. */
TEST_UNUSED static tn_karg *move_late(tn_karg *a) {
  a->is_late = true;
  a->rank = -1;
  a->data = NULL;
  return a;
}
TEST_UNUSED static bool move_check(const tn_karg *a, const double *want) { return nn_near(a, want, 0, "element"); }

#endif
