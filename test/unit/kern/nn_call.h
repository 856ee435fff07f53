/* Calls one kernel on operands in ordinary memory, for tests. */
#ifndef TN_TEST_NN_CALL_H
#define TN_TEST_NN_CALL_H

#include <stdlib.h>

#include "base/rng.h"
#include "kern/kern.h"
#include "test.h"

typedef struct nn_call {
  tn_karg args[16];
  const tn_karg *in[12];
  tn_karg *out[4];
  tn_kattr attrs[16];
  tn_kcall call;
  tn_khost host;
  tn_error err;
  void *held[256]; /* everything given out */
  int n_held, n_args;
  void *kept[4]; /* by cache slot */
  size_t kept_bytes[4];
} nn_call;

TEST_UNUSED static void *nn_hold(nn_call *c, size_t bytes) {
  if (c->n_held == 256) abort();
  void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
  if (!p) abort();
  memset(p, 0x7f, (bytes + 64) / 64 * 64); /* what a kernel does not write is not a plausible result */
  return c->held[c->n_held++] = p;
}
static void *nn_scratch(void *self, size_t bytes) { return nn_hold(self, bytes); }
static tn_status nn_alloc(void *self, tn_kcall *k, tn_karg *a) {
  size_t bytes;
  (void)k;
  if (!tn_dtype_bytes(a->dtype, a->count, &bytes)) return TN_LIMIT;
  a->data = nn_hold(self, bytes);
  return TN_OK;
}
static void *nn_cache(void *self, tn_kcall *k, int slot, size_t bytes, bool *fresh) {
  nn_call *c = self;
  (void)k;
  *fresh = c->kept_bytes[slot] != bytes;
  if (*fresh) c->kept[slot] = nn_hold(c, bytes);
  c->kept_bytes[slot] = bytes;
  return c->kept[slot];
}

TEST_UNUSED static void nn_begin(nn_call *c) {
  memset(c, 0, sizeof *c);
  c->host = (tn_khost){.alloc = nn_alloc, .scratch = nn_scratch, .cache = nn_cache};
  c->call = (tn_kcall){.in = c->in, .out = c->out, .attrs = c->attrs, .host = &c->host, .host_self = c, .err = &c->err};
}
TEST_UNUSED static void nn_end(nn_call *c) {
  for (int i = 0; i < c->n_held; i++) free(c->held[i]);
}

static tn_karg *nn_arg(nn_call *c, tn_dtype d, int rank, const int64_t *dims) {
  tn_karg *a = &c->args[c->n_args++];
  size_t bytes = 0;
  *a = (tn_karg){.dtype = d, .rank = rank};
  for (int i = 0; i < rank; i++) a->dims[i] = dims[i];
  if (!tn_dims_count(dims, rank, &a->count) || !tn_dtype_bytes(d, a->count, &bytes)) abort();
  a->data = nn_hold(c, bytes);
  return a;
}
/* An input with small random multiples of 1/8; absent when dims is NULL. */
TEST_UNUSED static tn_karg *nn_in(nn_call *c, tn_dtype d, int rank, const int64_t *dims) {
  static uint64_t state = 1;
  tn_karg *a = dims ? nn_arg(c, d, rank, dims) : NULL;
  c->in[c->call.n_in++] = a;
  for (int64_t i = 0; a && i < a->count; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    tn_store_f64(d, a->data, i, (double)((int64_t)(state >> 40) % 33 - 16) / 8);
  }
  return a;
}
TEST_UNUSED static tn_karg *nn_out(nn_call *c, tn_dtype d, int rank, const int64_t *dims) {
  tn_karg *a = nn_arg(c, d, rank, dims);
  return c->out[c->call.n_out++] = a;
}
TEST_UNUSED static tn_kattr *nn_attr(nn_call *c, const char *name, tn_kattr_kind kind) {
  tn_kattr *a = &c->attrs[c->call.n_attrs++];
  *a = (tn_kattr){.name = name, .kind = kind};
  return a;
}
TEST_UNUSED static void nn_int(nn_call *c, const char *name, int64_t v) { nn_attr(c, name, TN_KATTR_INT)->i = v; }
TEST_UNUSED static void nn_float(nn_call *c, const char *name, double v) { nn_attr(c, name, TN_KATTR_FLOAT)->f = v; }
TEST_UNUSED static void nn_str(nn_call *c, const char *name, const char *v) {
  nn_attr(c, name, TN_KATTR_STR)->s = tn_str_of(v);
}
TEST_UNUSED static void nn_ints(nn_call *c, const char *name, int64_t n, const int64_t *v) {
  tn_kattr *a = nn_attr(c, name, TN_KATTR_INTS);
  a->n = n;
  a->ints = v;
}
TEST_UNUSED static bool nn_run(nn_call *c, const tn_kernel *kernel) {
  const tn_status s = kernel->run(&c->call);
  if (s != TN_OK) printf("%s: %s\n", kernel->name, c->err.text);
  return CHECK(s == TN_OK);
}
static double nn_get(const tn_karg *a, int64_t i) { return tn_load_f64(a->dtype, a->data, i); }

/* Every element within tol * max(1, |expected|), scaled up for the short types. */
TEST_UNUSED static bool nn_near(const tn_karg *a, const double *want, double tol, const char *what) {
  if (a->dtype == TN_F16) tol = 2e-3;
  if (a->dtype == TN_BF16) tol = 1.6e-2;
  for (int64_t i = 0; i < a->count; i++) {
    const double got = nn_get(a, i), w = want[i], most = tol * (fabs(w) > 1 ? fabs(w) : 1);
    if (fabs(got - w) <= most) continue;
    printf("%s: element %lld of %lld is %.9g, expected %.9g\n", what, (long long)i, (long long)a->count, got, w);
    return CHECK(false);
  }
  return true;
}

#endif
