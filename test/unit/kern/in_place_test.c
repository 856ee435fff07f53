/* Kernels that say they can write a result over an operand: over every operand that they name, at every element type,
 * with one and three threads, the bytes are those that they write elsewhere. */
#include "kern/nn_call.h"

static const char *const binary_names[] = {
    "add", "sub",  "mul",         "div",  "mod",           "prelu",       "max",       "min",
    "sum", "mean", "pow",         "less", "less_or_equal", "greater",     "equal",     "greater_or_equal",
    "and", "or",   "bitwise_and", "xor",  "bitwise_or",    "bitwise_xor", "bit_shift", NULL};
static const char *const bool_names[] = {"less", "less_or_equal", "greater", "greater_or_equal", "equal", NULL};

static bool is_in(const char *const *names, const char *name) {
  for (; *names; names++)
    if (strcmp(*names, name) == 0) return true;
  return false;
}

/* Operands of the kernel: x of all dims, what else it needs. */
static void place_operands(nn_call *c, const char *name, tn_dtype d, int n, const int64_t *dims) {
  const int64_t channels[1] = {dims[1]}, last[1] = {dims[n - 1]};
  if (strcmp(name, "where") == 0) nn_in(c, TN_BOOL, n, dims);
  nn_in(c, d, n, dims);
  if (is_in(binary_names, name) || strcmp(name, "where") == 0) nn_in(c, d, n, dims);
  if (strcmp(name, "sum") == 0 || strcmp(name, "max") == 0) nn_in(c, d, 1, last);
  if (strcmp(name, "instance_norm") == 0 || strcmp(name, "group_norm") == 0 || strcmp(name, "batch_norm") == 0)
    for (int i = 0; i < 2; i++) nn_in(c, d, 1, channels);
  if (strcmp(name, "batch_norm") == 0)
    for (int i = 0; i < 2; i++) {
      const tn_karg *p = nn_in(c, d, 1, channels);
      for (int64_t e = 0; e < p->count; e++) tn_store_f64(d, p->data, e, 1 + (double)e);
    }
  if (strcmp(name, "layer_norm") == 0 || strcmp(name, "rms_norm") == 0) nn_in(c, d, 1, last);
  if (strcmp(name, "layer_norm") == 0) nn_in(c, d, 1, last);
  if (strcmp(name, "group_norm") == 0) nn_int(c, "num_groups", dims[1]);
}

typedef struct place_case {
  const tn_kernel *kernel;
  tn_dtype dtype;
  tn_pool *pool;
  int rank;
  const int64_t *dims;
} place_case;

/* 1: compared; 0: not for this type, or operand `over` is of another size. */
static int place_compare(const place_case *p, int over) {
  nn_call c;
  size_t bytes = 0;
  int done = 0;
  nn_begin(&c);
  place_operands(&c, p->kernel->name, p->dtype, p->rank, p->dims);
  const tn_dtype to = is_in(bool_names, p->kernel->name) ? TN_BOOL : p->dtype;
  const tn_karg *const x = c.in[over];
  tn_karg *const y = nn_out(&c, to, p->rank, p->dims);
  c.call.pool = p->pool;
  const bool fits = x->count == y->count && tn_dtype_bits(x->dtype) == tn_dtype_bits(to);
  if (fits && tn_dtype_bytes(to, y->count, &bytes) && p->kernel->run(&c.call) == TN_OK) {
    void *const elsewhere = y->data;
    y->data = x->data;
    done = CHECK(p->kernel->run(&c.call) == TN_OK);
    if (!CHECK(memcmp(elsewhere, x->data, bytes) == 0))
      printf("  %s of %s over operand %d\n", p->kernel->name, tn_dtype_name(p->dtype), over);
  }
  nn_end(&c);
  return done;
}

static int place_kernel(const tn_kernel *kernel, tn_pool *pool) {
  static const int64_t small[] = {2, 3, 5, 7}, wide[] = {3, 2, 10, 300};
  int done = 0;
  const int n_over = kernel->flags & TN_K_IN_PLACE
                         ? (strcmp(kernel->name, "where") == 0 ? 3 : 1 + is_in(binary_names, kernel->name))
                         : 1;
  for (int d = 1; d < TN_N_DTYPES; d++) {
    if (tn_dtype_bits((tn_dtype)d) < 8 || d == TN_STR) continue;
    for (int over = 0; over < n_over; over++) {
      done += place_compare(&(place_case){kernel, (tn_dtype)d, pool, 4, small}, over);
      done += place_compare(&(place_case){kernel, (tn_dtype)d, pool, 4, wide}, over);
    }
  }
  return done;
}

TEST(same_bytes) {
  tn_pool *pool = NULL;
  tn_error err = {0};
  if (!CHECK_EQ_I(tn_pool_create(tn_allocator_system(), 3, &pool, &err), TN_OK)) return;
  int kernels = 0;
  for (int i = 0; i < tn_kernel_count(); i++) {
    const tn_kernel *const kernel = tn_kernel_at(i);
    if (!(kernel->flags & (TN_K_IN_PLACE | TN_K_IN_PLACE_FIRST))) continue;
    kernels++;
    if (!CHECK(place_kernel(kernel, NULL) > 0) || !CHECK(place_kernel(kernel, pool) > 0))
      printf("  %s\n", kernel->name);
  }
  CHECK(kernels > 60);
  tn_pool_release(pool);
}
