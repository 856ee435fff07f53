/* Lifetime of programs, and where their constants are. */
#include "code/program.h"

#include "base/hash.h"
#include "code/codec.h"

const void *tn_program_data(const tn_program *p, uint32_t value) {
  static const _Alignas(64) uint8_t program_nothing[64];
  const tn_pvalue *x = &p->values[value];
  if (x->bytes == 0) return program_nothing;
  if (p->external && p->external[value]) return p->external[value];
  return p->weights + x->offset;
}

int64_t tn_program_find_file(const tn_program *p, uint32_t value, uint32_t *hint) {
  const tn_pvalue *x = &p->values[value];
  if (x->store != TN_STORE_CONST || x->dtype == TN_STR || x->bytes == 0) return -1;
  if (p->weights) return (int64_t)x->source - 1;
  const uintptr_t data = (uintptr_t)tn_program_data(p, value);
  const size_t element = (size_t)tn_dtype_bits((tn_dtype)x->dtype) / 8, align = element > 8 ? 8 : element;
  if (align > 1 && data % align != 0) return -1; /* kernels read elements where they lie */
  for (uint32_t i = 0; i < p->n_files; i++) {
    const uint32_t file = (*hint + i) % p->n_files;
    const tn_bytes b = p->files[file]->bytes;
    if (data < (uintptr_t)b.ptr || x->bytes > b.len || data - (uintptr_t)b.ptr > b.len - x->bytes) continue;
    *hint = file;
    return file;
  }
  return -1;
}

void tn_program_hash_files(const tn_program *p, tn_pextent *out) {
  uint32_t hint = 0;
  memset(out, 0, p->n_files * sizeof out[0]);
  for (uint32_t i = 0; i < p->n_values; i++) {
    const int64_t file = tn_program_find_file(p, i, &hint);
    if (file < 0) continue;
    tn_pextent *const x = &out[file];
    const uint8_t *const begin = tn_program_data(p, i), *const end = begin + p->values[i].bytes;
    if (!x->begin || begin < x->begin) x->begin = begin;
    if (!x->end || end > x->end) x->end = end;
  }
  for (uint32_t i = 0; i < p->n_files; i++) {
    const uint64_t h = out[i].begin ? tn_hash_bytes(out[i].begin, (size_t)(out[i].end - out[i].begin), 0) : 0;
    out[i].hash = h || !out[i].begin ? h : 1;
  }
}

/* Rows for all files of p, without paths. */
static tn_status program_sources(tn_allocator allocator, const tn_program *p, tn_psource **out, tn_error *err) {
  *out = tn_alloc(allocator, p->n_files * sizeof **out);
  if (!*out) return tn_error_set(err, TN_OOM, "no memory for a program");
  memset(*out, 0, p->n_files * sizeof **out);
  return TN_OK;
}

tn_status tn_program_copy(tn_allocator allocator, const tn_program *p, bool keeps_files, tn_program **out,
                          tn_error *err) {
  tn_bytes image;
  tn_psource *sources = NULL;
  TN_TRY(tn_program_verify(p, err));
  if (keeps_files) TN_TRY(program_sources(allocator, p, &sources, err));
  tn_status status = tn_program_encode(p, allocator, sources, &image, err);
  tn_free(allocator, sources, p->n_files * sizeof *sources);
  if (status != TN_OK) return status;
  void *bytes = (void *)(uintptr_t)image.ptr;
  status = tn_program_decode_over(allocator, image, NULL, p->files, keeps_files ? p->n_files : 0, out, err);
  if (status != TN_OK) {
    tn_free(allocator, bytes, image.len);
    return status;
  }
  (*out)->image = bytes;
  (*out)->image_bytes = image.len;
  return TN_OK;
}

tn_status tn_program_own(tn_allocator allocator, tn_program **io, tn_error *err) {
  tn_program *mapped = *io;
  const tn_status status = tn_program_copy(allocator, mapped, false, io, err);
  if (status != TN_OK) *io = NULL;
  tn_program_release(mapped);
  return status;
}

void tn_program_retain(tn_program *p) { __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED); }

void tn_program_release(tn_program *p) {
  if (!p || __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL) != 0) return;
  const tn_allocator a = p->allocator;
  tn_file_close(p->blob);
  for (uint32_t i = 0; i < p->n_files; i++) tn_file_close(p->files[i]);
  tn_free(a, p->image, p->image_bytes);
  tn_free(a, p->memory, p->memory_bytes); /* p itself is in it */
}
