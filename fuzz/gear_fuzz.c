/* Texts of gear options, a line each: input shape; b, i or d and a list of gears; policy; format. Refused with a
 * sentence, or the program is written, read and run in its gears and beside them. */
#include <stdlib.h>
#include <string.h>

#include "driver/compile.h"
#include "driver/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { GEAR_MAX_ELEMENTS = 4096, GEAR_MAX_BYTES = 64 << 20 };

static const char gear_model[] =
    "tenon 1\n"
    "graph @main(%x: f32[N,3,H,W], %t: i64[N,S], %s: f32[]) -> (%y: f32[N,3,H,W], %z: i64[N,S]) {\n"
    "  %a = relu(%x) : f32[N,3,H,W]\n"
    "  %y = mul(%a, %s) : f32[N,3,H,W]\n"
    "  %z = add(%t, %t) : i64[N,S]\n"
    "}\n";

/* Line `number` as text, NULL when it is not there or empty. */
static char *gear_line(const uint8_t *data, size_t size, int number) {
  const char *at = (const char *)data, *const end = at + size;
  for (int i = 0; i < number && at; i++) {
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    at = newline ? newline + 1 : NULL;
  }
  if (!at || at == end) return NULL;
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  const size_t len = (size_t)((stop ? stop : end) - at);
  char *const line = malloc(len + 1); /* strndup of what no 0 ends is a report of strict_string_checks */
  if (!line) abort();
  memcpy(line, at, len);
  line[len] = 0;
  return line;
}

/* Every free dim has its size in `gear`, less `less`. */
static bool gear_set(tn_rt_session *s, const tn_program *p, uint32_t gear, int64_t less) {
  static _Alignas(64) int64_t zeros[GEAR_MAX_ELEMENTS];
  tn_error err = {0};
  for (uint32_t i = 0; i < p->n_inputs; i++) {
    const tn_pvalue *v = &p->values[p->inputs[i].value];
    tn_karg a = {.dtype = (tn_dtype)v->dtype, .rank = v->rank, .count = 1, .data = zeros};
    for (int d = 0; d < v->rank; d++) a.dims[d] = d == 1 && v->rank == 4 ? 3 : 2;
    for (uint32_t j = 0; j < p->n_gear_dims; j++)
      if (p->gear_dims[j].input == i)
        a.dims[p->gear_dims[j].axis] = p->gear_sizes[gear * p->gear_columns + p->gear_dims[j].column] - less;
    for (int d = 0; d < v->rank; d++)
      if (a.dims[d] < 0 || a.dims[d] > GEAR_MAX_ELEMENTS || (a.count *= a.dims[d]) > GEAR_MAX_ELEMENTS) return false;
    if (tn_rt_set_input(s, i, &a, &err) != TN_OK) return false;
  }
  return true;
}

static void gear_run(tn_program *p) {
  tn_rt_session *s = NULL;
  tn_error err = {0};
  const tn_rt_options o = {.pool = {.threads = 1}, .max_memory = GEAR_MAX_BYTES};
  if (tn_rt_session_create(p, tn_allocator_system(), &o, &s, &err) != TN_OK) abort();
  for (uint32_t g = 0; g < p->n_gears && g < 4; g++)
    for (int64_t less = 0; less < 2; less++) {
      if (!gear_set(s, p, g, less)) continue;
      err = (tn_error){0};
      const tn_status status = tn_rt_run(s, &err);
      if (status == TN_INTERNAL || (status != TN_OK && !err.text[0])) abort();
      if (less == 0 && status == TN_OK && tn_rt_gear(s) < 0) abort();
    }
  tn_rt_session_release(s);
}

static void gear_again(const tn_program *p) {
  tn_bytes bytes = {NULL, 0};
  tn_program *twin = NULL;
  tn_error err = {0};
  if (tn_program_encode(p, tn_allocator_system(), NULL, &bytes, &err) != TN_OK) abort();
  if (tn_program_decode(tn_allocator_system(), bytes, NULL, NULL, &twin, &err) != TN_OK) abort();
  gear_run(twin);
  tn_program_release(twin);
  tn_free(tn_allocator_system(), (void *)(uintptr_t)bytes.ptr, bytes.len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char *lines[4];
  for (int i = 0; i < 4; i++) lines[i] = gear_line(data, size, i);
  tn_compile_options o = {.size = sizeof o, .input_shape = lines[0], .gear_miss = lines[2], .input_format = lines[3]};
  const char kind = lines[1] ? lines[1][0] : 0;
  if (kind == 'b') o.batch_sizes = lines[1] + 1;
  if (kind == 'i') o.image_sizes = lines[1] + 1;
  if (kind == 'd') o.gear_dims = lines[1] + 1;
  const tn_compile_request q = {.allocator = tn_allocator_system(),
                                .bytes = {(const uint8_t *)gear_model, sizeof gear_model - 1},
                                .options = &o,
                                .max_edits = -1};
  tn_compilation c;
  tn_program *p = NULL;
  const tn_status status = tn_compile(&q, &c, &p, NULL);
  if (status == TN_INTERNAL || (status != TN_OK && c.ctx.n_diags == 0)) abort();
  if (p) {
    gear_again(p);
    tn_program_release(p);
  }
  tn_compilation_drop(&c);
  for (int i = 0; i < 4; i++) free(lines[i]);
  return 0;
}
