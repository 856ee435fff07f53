/* Untrusted program files: decoded, verified, printed, written again; and run when they are small. The header's length
 * and hash are set right first, so that changes reach the rest. Kernels are called with copies of their operands, each
 * in a block of its own, so that a sanitizer sees what they read and write beyond one. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "code/codec.h"
#include "program_mutate.h"
#include "rt/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

enum {
  PROGRAM_MAX_REGIONS = 8,
  PROGRAM_MAX_INPUTS = 20,
  PROGRAM_MAX_CALLS = 2000,
  PROGRAM_MAX_NS = 1000000000, /* of one run */
  PROGRAM_MAX_BYTES = 1 << 22,
  PROGRAM_ELEMENTS = 4096
};

/* An allocator with an end. */
typedef struct program_memory {
  tn_allocator inner;
  int64_t bytes;
} program_memory;

static void *program_resize(void *self, void *p, size_t old_size, size_t new_size) {
  program_memory *m = self;
  if (new_size > PROGRAM_MAX_BYTES || m->bytes + (int64_t)new_size > PROGRAM_MAX_BYTES) return NULL;
  void *q = m->inner.resize(m->inner.self, p, old_size, new_size);
  if (q || new_size == 0) m->bytes += (int64_t)new_size - (int64_t)old_size;
  return q;
}

static void program_put(uint8_t *at, uint64_t v) {
  for (int i = 0; i < 8; i++) at[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t program_get(const uint8_t *at) {
  uint64_t v = 0;
  for (int i = 0; i < 8; i++) v |= (uint64_t)at[i] << (8 * i);
  return v;
}

/* The header has the length at 16, and at 24 the hash of what lies before the weights. */
static void program_repair(uint8_t *bytes, size_t size) {
  enum { WEIGHTS_OFFSET = TN_CODEC_HEADER + TN_SECTION_WEIGHTS * TN_CODEC_ENTRY + 8 };
  if (size < WEIGHTS_OFFSET + 8) return;
  const uint64_t weights = program_get(bytes + WEIGHTS_OFFSET);
  program_put(bytes + 16, size);
  if (weights >= TN_CODEC_HEADER && weights <= size)
    program_put(bytes + 24, tn_hash_bytes(bytes + TN_CODEC_HEADER, (size_t)weights - TN_CODEC_HEADER, 0));
}

static void program_ignore(void *arg, const char *text, size_t n) {
  size_t *sum = arg;
  for (size_t i = 0; i < n; i++) *sum += (uint8_t)text[i];
}

static bool program_may_run(const tn_program *p) {
  if (p->n_regions > PROGRAM_MAX_REGIONS || p->n_inputs > PROGRAM_MAX_INPUTS) return false;
  for (uint32_t i = 0; i < p->n_steps; i++) { /* loops: only with a trip count that comes from here */
    const int32_t trips = p->steps[i].kind == TN_STEP_LOOP ? p->operands[p->steps[i].in.first] : 0;
    if (p->steps[i].kind == TN_STEP_LOOP && (trips == TN_NO_INDEX || p->values[trips].store != TN_STORE_INPUT))
      return false;
  }
  return true;
}

/* What the program says that a dim is, 2 where it depends. */
static int64_t program_dim(const tn_program *p, uint32_t slot) {
  for (uint32_t i = 0; i < p->n_code; i++)
    if (p->code[i].op == TN_SHAPE_CONST && p->code[i].dst == slot && p->code[i].imm >= 0 &&
        p->code[i].imm <= PROGRAM_ELEMENTS)
      return p->code[i].imm;
  return 2;
}

/* Small numbers, some negative and some large. */
static int64_t program_number(uint64_t seed, int64_t e) {
  static const int64_t numbers[] = {2, 1, 0, 3, -1, 1, 2, 5, 0, 4, 100, -7, 1, INT32_MAX, 0, INT64_MIN};
  return numbers[seed == 0 ? 0 : tn_hash_mix(seed, (uint64_t)e) % (seed % 3 ? 8 : TN_COUNT(numbers))];
}

static tn_status program_set_input(tn_rt_session *s, const tn_program *p, uint32_t i, uint64_t seed, void **data,
                                   tn_error *err) {
  const tn_pvalue *x = &p->values[p->inputs[i].value];
  tn_karg a = {.kind = (tn_kkind)x->kind, .dtype = (tn_dtype)x->dtype, .rank = x->rank < 0 ? 1 : x->rank, .count = 1};
  size_t bytes = 0;
  for (int d = 0; d < a.rank; d++) {
    a.dims[d] = x->dims.n ? program_dim(p, p->dim_slots[x->dims.first + (uint32_t)d]) : 2;
    a.count *= a.dims[d];
    if (a.count > PROGRAM_ELEMENTS) return TN_LIMIT;
  }
  if (a.kind == TN_KARG_TENSOR && !tn_dtype_bytes(a.dtype, a.count, &bytes)) return TN_LIMIT;
  a.data = *data = calloc(1, bytes + 1);
  for (int64_t e = 0; e < a.count && a.kind == TN_KARG_TENSOR; e++) {
    const int64_t v = program_number(seed, e);
    if (a.dtype == TN_STR) {
      ((tn_str *)a.data)[e] = (tn_str){"a b", (size_t)(v & 3)};
    } else if (tn_dtype_cls(a.dtype) != TN_CLASS_COMPLEX) {
      tn_store_i64(a.dtype, a.data, e, tn_dtype_cls(a.dtype) == TN_CLASS_BOOL ? v & 1 : v);
    }
  }
  return tn_rt_set_input(s, i, &a, err);
}

typedef struct program_copies { /* operands of one call */
  const tn_karg **in;
  tn_karg **out, *args;
  int n;
} program_copies;

static tn_karg *program_copy(program_copies *c, const tn_karg *a) {
  size_t bytes;
  if (!a || a->kind != TN_KARG_TENSOR || !a->data || !tn_dtype_bytes(a->dtype, a->count, &bytes)) return NULL;
  tn_karg *copy = &c->args[c->n++];
  *copy = *a;
  copy->data = malloc(bytes ? bytes : 1);
  if (!copy->data) abort();
  memcpy(copy->data, a->data, bytes);
  return copy;
}

/* The kernel of the step, with copies of all operands but those that it sizes itself. */
static tn_status program_guard(tn_kcall *k) {
  const size_t n = (size_t)k->n_in + (size_t)k->n_out + 1;
  program_copies c = {calloc(n, sizeof(void *)), calloc(n, sizeof(void *)), calloc(n, sizeof(tn_karg)), 0};
  if (!c.in || !c.out || !c.args) abort();
  for (int i = 0; i < k->n_in; i++) {
    const tn_karg *const copy = program_copy(&c, k->in[i]);
    c.in[i] = copy ? copy : k->in[i];
  }
  for (int i = 0; i < k->n_out; i++) {
    tn_karg *const copy = program_copy(&c, k->out[i]);
    c.out[i] = copy ? copy : k->out[i];
  }
  tn_kcall call = *k;
  call.in = c.in;
  call.out = c.out;
  const tn_rt_session *s = k->host_self;
  const tn_kernel *kernel = tn_kernel_find(s->p->steps[((const tn_rt_step *)k->step)->number].kernel);
  const tn_status status = kernel->run(&call);
  for (int i = 0; i < k->n_out; i++) {
    size_t bytes;
    if (k->out[i] && c.out[i] != k->out[i] && tn_dtype_bytes(k->out[i]->dtype, k->out[i]->count, &bytes))
      memcpy(k->out[i]->data, c.out[i]->data, bytes);
  }
  for (int i = 0; i < c.n; i++) free(c.args[i].data);
  free(c.in);
  free(c.out);
  free(c.args);
  return status;
}

static void program_guard_all(tn_rt_session *s, tn_kernel *guards) {
  for (uint32_t i = 0; i < s->p->n_steps; i++) {
    if (!s->steps[i].kernel) continue;
    guards[i] = *s->steps[i].kernel;
    guards[i].run = program_guard;
    s->steps[i].kernel = &guards[i];
  }
}

static tn_status program_hook(void *arg, uint32_t step, const tn_kcall *call, int64_t ns, tn_error *err) {
  int *calls = arg;
  (void)step, (void)call, (void)ns;
  return ++*calls > PROGRAM_MAX_CALLS ? tn_error_set(err, TN_LIMIT, "long enough") : TN_OK;
}

/* Reads every byte of a result, so that a sanitizer sees what was not written or is not there. */
static size_t program_touch(const tn_karg *a, int depth) {
  size_t sum = 0, bytes = 0;
  for (int64_t i = 0; a->kind != TN_KARG_TENSOR && i < a->n_items && depth < 9; i++)
    sum += program_touch(a->items[i], depth + 1);
  if (a->kind != TN_KARG_TENSOR || !tn_dtype_bytes(a->dtype, a->count, &bytes)) return sum;
  for (size_t i = 0; i < bytes; i++) sum += ((const uint8_t *)a->data)[i];
  for (int64_t i = 0; a->dtype == TN_STR && i < a->count; i++)
    for (size_t j = 0; j < ((const tn_str *)a->data)[i].len; j++) sum += (uint8_t)((const tn_str *)a->data)[i].ptr[j];
  return sum;
}

static void program_run(tn_program *p, tn_allocator allocator, uint64_t seed) {
  void *data[PROGRAM_MAX_INPUTS] = {NULL};
  tn_rt_session *s = NULL;
  tn_error err = {TN_OK, ""};
  int calls = 0;
  if (tn_rt_session_create(p, allocator, NULL, &s, &err) != TN_OK) return;
  tn_kernel *guards = calloc((size_t)p->n_steps + 1, sizeof *guards);
  if (!guards) abort();
  program_guard_all(s, guards);
  tn_rt_set_hook(s, program_hook, &calls);
  tn_rt_set_deadline(s, PROGRAM_MAX_NS); /* loops without a kernel step call no hook */
  tn_status status = TN_OK;
  for (uint32_t i = 0; i < p->n_symbols && status == TN_OK; i++)
    status = tn_rt_set_symbol(s, p->symbols[i].name, 2, &err);
  for (uint32_t i = 0; i < p->n_inputs && status == TN_OK; i++)
    status = program_set_input(s, p, i, (seed >> i) % 4 ? seed : 0, &data[i], &err);
  for (int round = 0; round < 2 && status == TN_OK; round++) {
    status = tn_rt_run(s, &err);
    for (uint32_t i = 0; i < p->n_outputs && status == TN_OK; i++)
      calls += (int)(program_touch(tn_rt_output(s, i), 0) & 1);
  }
  if (status != TN_OK && status != TN_OOM && !err.text[0] && status != TN_LIMIT) abort();
  tn_rt_session_release(s);
  free(guards);
  for (int i = 0; i < PROGRAM_MAX_INPUTS; i++) free(data[i]);
}

static void program_again(const tn_program *p, tn_allocator allocator) {
  tn_bytes bytes = {NULL, 0};
  tn_program *twin = NULL;
  tn_error err = {TN_OK, ""};
  if (tn_program_encode(p, allocator, NULL, &bytes, &err) != TN_OK) return;
  const tn_status status = tn_program_decode(allocator, bytes, NULL, NULL, &twin, &err);
  if (status != TN_OK && status != TN_OOM) abort(); /* what was written can be read */
  tn_program_release(twin);
  tn_free(allocator, (void *)(uintptr_t)bytes.ptr, bytes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  program_memory memory = {tn_allocator_system(), 0};
  const tn_allocator allocator = {&memory, program_resize};
  tn_program *p = NULL;
  tn_error err = {TN_OK, ""};
  uint8_t *bytes = tn_alloc(allocator, size);
  size_t sum = 0;
  if (!bytes) return 0;
  if (size) memcpy(bytes, data, size);
  program_repair(bytes, size);
  const tn_status status = tn_program_decode(allocator, (tn_bytes){bytes, size}, NULL, NULL, &p, &err);
  if (status != TN_OK && !err.text[0]) abort();
  if (status == TN_OK) {
    tn_program_print(p, program_ignore, &sum);
    program_again(p, allocator);
    if (program_may_run(p)) program_run(p, allocator, tn_hash_bytes(data, size, 0));
    tn_program_release(p);
  }
  tn_free(allocator, bytes, size);
  if (memory.bytes != 0) abort();
  return 0;
}

/* One time in four bytes change, else what they mean; such a program still passes verification. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
  const tn_allocator allocator = tn_allocator_system();
  if (seed % 4 == 0) return LLVMFuzzerMutate(data, size, max_size);
  for (uint64_t attempt = 0; attempt < 16; attempt++) {
    tn_program *p = NULL;
    tn_bytes changed = {NULL, 0};
    tn_error err = {TN_OK, ""};
    uint8_t *bytes = malloc(size + 1);
    if (!bytes) abort();
    memcpy(bytes, data, size);
    program_repair(bytes, size);
    if (tn_program_decode(allocator, (tn_bytes){bytes, size}, NULL, NULL, &p, &err) == TN_OK) {
      mutate_program(p, tn_hash_mix(seed, attempt));
      if (tn_program_verify(p, &err) == TN_OK && tn_program_encode(p, allocator, NULL, &changed, &err) != TN_OK)
        changed = (tn_bytes){NULL, 0};
    }
    const size_t made = changed.len <= max_size ? changed.len : 0;
    if (made) memcpy(data, changed.ptr, made);
    tn_program_release(p);
    tn_free(allocator, (void *)(uintptr_t)changed.ptr, changed.len);
    free(bytes);
    if (made) return made;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}
