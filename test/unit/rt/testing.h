/* A session over a hand-made program, with counted memory. */
#ifndef TN_TEST_RT_TESTING_H
#define TN_TEST_RT_TESTING_H

#include "code/build.h"
#include "rt/rt.h"
#include "test.h"

typedef struct fixture {
  build b;
  tn_alloc_probe probe;
  tn_allocator allocator;
  tn_program *p;
  tn_rt_session *s;
  tn_error err;
} fixture;

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

__attribute__((unused)) static void fixture_init(fixture *x) {
  memset(x, 0, sizeof *x);
  x->probe.inner = tn_allocator_system();
  x->allocator = tn_allocator_probe(&x->probe);
  build_init(&x->b, x->allocator);
}

__attribute__((unused)) static bool fixture_start(fixture *x) {
  build_ticks(&x->b);
  tn_status status = tn_program_copy(x->allocator, &x->b.p, true, &x->p, &x->err);
  if (status == TN_OK) status = tn_rt_session_create(x->p, x->allocator, NULL, &x->s, &x->err);
  if (status != TN_OK) printf("  %s\n", x->err.text);
  return status == TN_OK;
}

__attribute__((unused)) static bool fixture_add(fixture *x) {
  fixture_init(x);
  build_add(&x->b, x->allocator);
  return fixture_start(x);
}

__attribute__((unused)) static tn_karg fixture_arg(tn_dtype d, const void *data, int rank, const int64_t *dims) {
  tn_karg a = {.kind = TN_KARG_TENSOR, .dtype = d, .rank = rank, .data = (void *)(uintptr_t)data, .count = 1};
  for (int i = 0; i < rank; i++) {
    a.dims[i] = dims[i];
    if (a.dims[i] >= 0 && a.dims[i] < 1 << 20) a.count *= a.dims[i];
  }
  return a;
}

#define fixture_f32(x, i, data, rank, dims)                                                                  \
  do {                                                                                                       \
    const tn_karg arg_ = fixture_arg(TN_F32, (data), (rank), (dims));                                        \
    if (!CHECK_EQ_I(tn_rt_set_input((x)->s, (i), &arg_, &(x)->err), TN_OK)) printf("  %s\n", (x)->err.text); \
  } while (0)

/* Releases all; nothing may be left. */
#define fixture_drop(x)                   \
  do {                                    \
    tn_rt_session_release((x)->s);        \
    tn_program_release((x)->p);           \
    CHECK_EQ_I((x)->probe.live_bytes, 0); \
  } while (0)

#endif
