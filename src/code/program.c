/* Lifetime of programs. */
#include "code/program.h"

#include "code/codec.h"

const void *tn_program_data(const tn_program *p, uint32_t value) {
  static const _Alignas(64) uint8_t program_nothing[64];
  const tn_pvalue *x = &p->values[value];
  if (x->bytes == 0) return program_nothing;
  if (p->external && p->external[value]) return p->external[value];
  return p->weights + x->offset;
}

bool tn_program_is_window(const tn_program *p, uint32_t value, uint32_t *hint) {
  const tn_pvalue *x = &p->values[value];
  const uintptr_t data = (uintptr_t)tn_program_data(p, value);
  const size_t element = (size_t)tn_dtype_bits((tn_dtype)x->dtype) / 8, align = element > 8 ? 8 : element;
  if (align > 1 && data % align != 0) return false; /* kernels read elements where they lie */
  for (uint32_t i = 0; i < p->n_files; i++) {
    const uint32_t file = (*hint + i) % p->n_files;
    const tn_bytes b = p->files[file]->bytes;
    if (data < (uintptr_t)b.ptr || x->bytes > b.len || data - (uintptr_t)b.ptr > b.len - x->bytes) continue;
    *hint = file;
    return true;
  }
  return false;
}

tn_status tn_program_copy(tn_allocator allocator, const tn_program *p, tn_program **out, tn_error *err) {
  tn_bytes image;
  TN_TRY(tn_program_verify(p, err));
  TN_TRY(tn_program_encode_with(p, allocator, true, &image, err));
  void *bytes = (void *)(uintptr_t)image.ptr;
  const tn_status status = tn_program_decode_with(allocator, image, p, out, err);
  if (status != TN_OK) {
    tn_free(allocator, bytes, image.len);
    return status;
  }
  (*out)->image = bytes;
  (*out)->image_bytes = image.len;
  return TN_OK;
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
