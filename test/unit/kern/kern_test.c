/* What kernels share; and the kernels identity, shape and size. */
#include "kern/kern.h"

#include <stdlib.h>

#include "test.h"

/* A host with one piece of memory per kind, enough for these tests. */
typedef struct kern_host {
  _Alignas(64) char late[256], room[4096];
  tn_karg items[16];
  tn_karg *lists[16][4];
  int n_items;
  size_t used;
  bool is_full;
} kern_host;

static tn_status kern_host_alloc(void *self, tn_kcall *k, tn_karg *arg) {
  kern_host *h = self;
  if (h->is_full) return tn_k_fail(k, TN_OOM, "full");
  arg->data = h->late;
  return TN_OK;
}

static void *kern_host_scratch(void *self, size_t bytes) {
  kern_host *h = self;
  if (h->is_full || bytes > sizeof h->room - h->used) return NULL;
  void *p = h->room + h->used;
  h->used += (bytes + 63) & ~(size_t)63;
  return p;
}

static void *kern_host_cache(void *self, tn_kcall *k, int slot, size_t bytes, bool *fresh) {
  (void)k;
  *fresh = slot == 0;
  return kern_host_scratch(self, bytes);
}

static char *kern_host_string(void *self, size_t bytes) { return kern_host_scratch(self, bytes); }

static tn_karg *kern_host_item(void *self, tn_kcall *k, tn_karg *seq, int64_t at, tn_dtype d, int rank,
                               const int64_t *dims) {
  kern_host *h = self;
  (void)k;
  if (h->n_items == 16 || at != seq->n_items || at >= 4) return NULL;
  if (!seq->items) seq->items = h->lists[h->n_items];
  tn_karg *item = &h->items[h->n_items++];
  *item = (tn_karg){.kind = rank < 0 ? TN_KARG_SEQUENCE : TN_KARG_TENSOR, .dtype = d, .rank = rank, .count = 1};
  for (int i = 0; i < rank; i++) item->count *= item->dims[i] = dims[i];
  if (rank >= 0) item->data = kern_host_scratch(self, (size_t)item->count * 8);
  seq->items[seq->n_items++] = item;
  return item;
}

static const tn_khost kern_host_calls = {kern_host_alloc, kern_host_scratch, kern_host_cache, kern_host_string,
                                         kern_host_item};

typedef struct kern_call {
  kern_host host;
  tn_error err;
  const tn_karg *in[3];
  tn_karg *out[2];
  tn_kcall k;
} kern_call;

static void kern_call_init(kern_call *c, int n_in, int n_out) {
  memset(c, 0, sizeof *c);
  c->k = (tn_kcall){.in = c->in,
                    .out = c->out,
                    .n_in = n_in,
                    .n_out = n_out,
                    .host = &kern_host_calls,
                    .host_self = &c->host,
                    .err = &c->err};
}

static tn_karg kern_tensor(tn_dtype d, void *data, int rank, int64_t d0, int64_t d1, int64_t d2) {
  tn_karg a = {.dtype = d, .rank = rank, .dims = {d0, d1, d2}, .data = data, .count = 1};
  for (int i = 0; i < rank; i++) a.count *= a.dims[i];
  return a;
}

TEST(table) {
  CHECK(tn_kernel_count() >= 3);
  for (int i = 1; i < tn_kernel_count(); i++) CHECK(strcmp(tn_kernel_at(i - 1)->name, tn_kernel_at(i)->name) < 0);
  for (int i = 0; i < tn_kernel_count(); i++) CHECK(tn_kernel_find(tn_kernel_at(i)->name) == tn_kernel_at(i));
  CHECK(!tn_kernel_find("no such kernel"));
  CHECK(!tn_kernel_find(""));
}

TEST(cpu_level) {
  const int level = tn_cpu_level();
  CHECK(level == 1 || level == 3 || level == 4);
  CHECK_EQ_I(tn_cpu_level(), level);
}

TEST(attributes) {
  const tn_kattr attrs[] = {{.name = "axis", .kind = TN_KATTR_INT, .i = -3},
                            {.name = "alpha", .kind = TN_KATTR_FLOAT, .f = 0.25},
                            {.name = "mode", .kind = TN_KATTR_STR, .s = {"linear", 6}}};
  kern_call c;
  kern_call_init(&c, 0, 0);
  c.k.attrs = attrs;
  c.k.n_attrs = 3;
  CHECK_EQ_I(tn_k_int(&c.k, "axis", 5), -3);
  CHECK_EQ_I(tn_k_int(&c.k, "alpha", 5), 5); /* another kind */
  CHECK_EQ_I(tn_k_int(&c.k, "axi", 5), 5);
  CHECK_EQ_F(tn_k_float(&c.k, "alpha", 1), 0.25);
  CHECK_EQ_F(tn_k_float(&c.k, "beta", 1), 1);
  CHECK(tn_k_str_is(&c.k, "mode", "linear"));
  CHECK(!tn_k_str_is(&c.k, "mode", "linea"));
  CHECK(!tn_k_str_is(&c.k, "axis", "linear"));
  CHECK(!tn_k_attr(&c.k, "nothing"));
}

TEST(axis) {
  kern_call c;
  int axis = 9;
  kern_call_init(&c, 0, 0);
  CHECK_EQ_I(tn_k_axis(&c.k, -3, 3, &axis), TN_OK);
  CHECK_EQ_I(axis, 0);
  CHECK_EQ_I(tn_k_axis(&c.k, 2, 3, &axis), TN_OK);
  CHECK_EQ_I(axis, 2);
  CHECK_EQ_I(tn_k_axis(&c.k, 3, 3, &axis), TN_MISMATCH);
  CHECK_STR(c.err.text, "axis 3 is outside a tensor of rank 3");
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_k_axis(&c.k, 0, 0, &axis), TN_MISMATCH);
}

TEST(broadcast) {
  tn_karg a = kern_tensor(TN_F32, NULL, 3, 2, 1, 4), b = kern_tensor(TN_F32, NULL, 2, 3, 1, 0);
  tn_karg empty = kern_tensor(TN_F32, NULL, 1, 0, 0, 0), wrong = kern_tensor(TN_F32, NULL, 2, 2, 4, 0);
  const tn_karg *args[3] = {&a, NULL, &b};
  kern_call c;
  int rank = 0;
  int64_t dims[TN_K_MAX_RANK], strides[3];
  kern_call_init(&c, 0, 0);
  CHECK_EQ_I(tn_k_bcast(&c.k, args, 3, &rank, dims), TN_OK);
  CHECK_EQ_I(rank, 3);
  CHECK_EQ_I(dims[0], 2);
  CHECK_EQ_I(dims[1], 3);
  CHECK_EQ_I(dims[2], 4);
  tn_k_bcast_strides(&a, 3, strides);
  CHECK(strides[0] == 4 && strides[1] == 0 && strides[2] == 1);
  tn_k_bcast_strides(&b, 3, strides);
  CHECK(strides[0] == 0 && strides[1] == 1 && strides[2] == 0);
  args[0] = &b;
  args[2] = &empty;
  CHECK_EQ_I(tn_k_bcast(&c.k, args, 3, &rank, dims), TN_OK);
  CHECK(rank == 2 && dims[0] == 3 && dims[1] == 0);
  args[0] = &a;
  args[2] = &wrong;
  CHECK_EQ_I(tn_k_bcast(&c.k, args, 3, &rank, dims), TN_OK);
  args[1] = &b;
  CHECK_EQ_I(tn_k_bcast(&c.k, args, 3, &rank, dims), TN_MISMATCH);
  CHECK_STR(c.err.text, "cannot broadcast dim 1: 3 with 2");
  CHECK_EQ_I(tn_k_bcast(&c.k, args, 0, &rank, dims), TN_OK);
  CHECK_EQ_I(rank, 0);
}

TEST(collapse) {
  int rank = 4;
  int64_t dims[4] = {2, 3, 1, 5}, x[4] = {15, 5, 5, 1}, y[4] = {0, 0, 7, 0}, z[4] = {15, 5, 0, 1};
  int64_t *const both[2] = {x, z};
  tn_k_collapse(&rank, dims, both, 2);
  CHECK_EQ_I(rank, 1);
  CHECK_EQ_I(dims[0], 30);
  CHECK(x[0] == 1 && z[0] == 1);
  rank = 3;
  int64_t more[3] = {2, 3, 5}, full[3] = {15, 5, 1}, rows[3] = {0, 0, 1};
  int64_t *const mixed[2] = {full, rows};
  tn_k_collapse(&rank, more, mixed, 2);
  CHECK_EQ_I(rank, 2);
  CHECK(more[0] == 6 && more[1] == 5 && full[0] == 5 && full[1] == 1 && rows[0] == 0 && rows[1] == 1);
  rank = 0;
  int64_t *const one[1] = {y};
  tn_k_collapse(&rank, dims, one, 1);
  CHECK(rank == 1 && dims[0] == 1 && y[0] == 0);
  rank = 2;
  dims[0] = dims[1] = 1;
  tn_k_collapse(&rank, dims, one, 1);
  CHECK(rank == 1 && dims[0] == 1);
}

TEST(copies) {
  const uint8_t nibbles[3] = {0x21, 0x43, 0x65}; /* 1 2 3 4 5 6 */
  uint8_t out[3] = {0xff, 0xff, 0xff};
  tn_k_copy(TN_U4, out, 0, nibbles, 0, 5);
  CHECK(out[0] == 0x21 && out[1] == 0x43 && out[2] == 0xf5); /* the sixth stays */
  tn_k_copy(TN_U4, out, 1, nibbles, 2, 3);
  CHECK(out[0] == 0x31 && out[1] == 0x54 && out[2] == 0xf5);
  const int64_t wide[3] = {10, 20, 30};
  int64_t to[3] = {0, 0, 0};
  tn_k_copy(TN_I64, to, 1, wide, 0, 2);
  CHECK(to[0] == 0 && to[1] == 10 && to[2] == 20);
  tn_k_copy(TN_I64, to, 0, NULL, 0, 0);
  CHECK_EQ_I(to[0], 0);
}

TEST(outputs) {
  kern_call c;
  kern_call_init(&c, 0, 1);
  float data[6];
  tn_karg planned = kern_tensor(TN_F32, data, 2, 2, 3, 0), late = {.dtype = TN_F32, .rank = -1, .is_late = true};
  const int64_t dims[3] = {2, 3, 4};
  CHECK_EQ_I(tn_k_out(&c.k, 0, 2, dims), TN_OK); /* absent */
  c.out[0] = &planned;
  CHECK_EQ_I(tn_k_out(&c.k, 0, 2, dims), TN_OK);
  CHECK_EQ_I(tn_k_out(&c.k, 0, 3, dims), TN_INTERNAL);
  CHECK_STR(c.err.text, "output 0 has rank 3, but the plan is 2");
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_k_out(&c.k, 0, 2, dims + 1), TN_INTERNAL);
  CHECK_STR(c.err.text, "output 0 dim 0 is 3, but the plan is 2");
  c.err.status = TN_OK;
  c.out[0] = &late;
  CHECK_EQ_I(tn_k_out(&c.k, 0, 3, dims), TN_OK);
  CHECK(late.rank == 3 && late.count == 24 && late.data == c.host.late);
  CHECK_EQ_I(tn_k_out(&c.k, 0, 17, dims), TN_LIMIT);
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_k_out(&c.k, 0, 2, (const int64_t[]){INT64_MAX, 2}), TN_LIMIT);
  c.err.status = TN_OK;
  late.kind = TN_KARG_SEQUENCE;
  CHECK_EQ_I(tn_k_out(&c.k, 0, 2, dims), TN_INTERNAL);
}

TEST(services_say_when_memory_ends) {
  kern_call c;
  void *p = NULL;
  char *z = NULL;
  tn_karg *item = NULL, seq = {.kind = TN_KARG_SEQUENCE, .rank = -1};
  bool fresh = false;
  kern_call_init(&c, 0, 0);
  CHECK_EQ_I(tn_k_scratch(&c.k, 100, &p), TN_OK);
  CHECK(p != NULL);
  CHECK_EQ_I(tn_k_cache(&c.k, 0, 100, &p, &fresh), TN_OK);
  CHECK(fresh);
  CHECK_EQ_I(tn_k_string(&c.k, 3, &z), TN_OK);
  CHECK_EQ_I(tn_k_scratch(&c.k, 100000, &p), TN_OOM);
  CHECK_STR(c.err.text, "no memory for 100000 bytes of scratch");
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_k_cache(&c.k, 1, 100000, &p, &fresh), TN_OOM);
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_k_string(&c.k, 100000, &z), TN_OOM);
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_k_item(&c.k, &seq, 3, TN_F32, 0, NULL, &item), TN_OOM);
  CHECK_STR(c.err.text, "no memory for element 3 of a sequence");
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_k_item(&c.k, &seq, 0, TN_F32, 1, (const int64_t[]){-1}, &item), TN_LIMIT);
}

TEST(operands_that_are_missing) {
  kern_call c;
  kern_call_init(&c, 1, 1);
  CHECK_EQ_I(tn_kernel_find("identity")->run(&c.k), TN_INTERNAL);
  CHECK_STR(c.err.text, "input 0 is missing");
  tn_karg x = kern_tensor(TN_F32, NULL, 1, 0, 0, 0);
  c.in[0] = &x;
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_kernel_find("size")->run(&c.k), TN_INTERNAL);
  CHECK_STR(c.err.text, "output 0 is missing");
  c.err.status = TN_OK;
  CHECK_EQ_I(tn_k_no_dtype(&c.k, 0), TN_UNSUPPORTED);
  CHECK_STR(c.err.text, "element type f32 of input 0 is not supported");
}

TEST(shape_and_size) {
  static const struct {
    int64_t start, end;
    int n;
    int64_t want[3];
  } cases[] = {{0, 3, 3, {2, 3, 4}}, {1, 3, 2, {3, 4}}, {-1, 9, 1, {4}}, {-9, -1, 2, {2, 3}}, {2, 1, 0, {0}}};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    const tn_kattr attrs[] = {{.name = "start", .kind = TN_KATTR_INT, .i = cases[i].start},
                              {.name = "end", .kind = TN_KATTR_INT, .i = cases[i].end}};
    kern_call c;
    tn_karg x = kern_tensor(TN_F32, NULL, 3, 2, 3, 4), y = {.dtype = TN_I64, .rank = -1, .is_late = true};
    kern_call_init(&c, 1, 1);
    c.in[0] = &x;
    c.out[0] = &y;
    c.k.attrs = attrs;
    c.k.n_attrs = 2;
    CHECK_EQ_I(tn_kernel_find("shape")->run(&c.k), TN_OK);
    CHECK_EQ_I(y.count, cases[i].n);
    for (int j = 0; j < cases[i].n; j++) CHECK_EQ_I(tn_k_i64(&y, j), cases[i].want[j]);
    y = (tn_karg){.dtype = TN_I64, .rank = -1, .is_late = true};
    CHECK_EQ_I(tn_kernel_find("size")->run(&c.k), TN_OK);
    CHECK(y.rank == 0 && tn_k_i64(&y, 0) == 24);
    c.host.is_full = true;
    y.rank = -1;
    CHECK_EQ_I(tn_kernel_find("size")->run(&c.k), TN_OOM);
  }
}

/* A sequence of a tensor and a sequence, copied deeply. */
TEST(identity_of_sequences) {
  int64_t data[2] = {7, 8};
  tn_karg tensor = kern_tensor(TN_I64, data, 1, 2, 0, 0), inner = {.kind = TN_KARG_SEQUENCE, .rank = -1};
  tn_karg *inner_items[] = {&tensor}, *items[] = {&tensor, &inner};
  inner.items = inner_items;
  inner.n_items = 1;
  tn_karg x = {.kind = TN_KARG_SEQUENCE, .rank = -1, .items = items, .n_items = 2};
  tn_karg y = {.kind = TN_KARG_SEQUENCE, .rank = -1, .is_late = true};
  kern_call c;
  kern_call_init(&c, 1, 1);
  c.in[0] = &x;
  c.out[0] = &y;
  if (!CHECK_EQ_I(tn_kernel_find("identity")->run(&c.k), TN_OK)) return;
  CHECK_EQ_I(y.n_items, 2);
  CHECK(y.items[0]->data != data && tn_k_i64(y.items[0], 1) == 8);
  CHECK(y.items[1]->kind == TN_KARG_SEQUENCE && y.items[1]->n_items == 1);
  CHECK(y.items[1]->items[0]->data != data && tn_k_i64(y.items[1]->items[0], 0) == 7);
  y.kind = TN_KARG_OPTIONAL;
  CHECK_EQ_I(tn_kernel_find("identity")->run(&c.k), TN_INTERNAL);
}
