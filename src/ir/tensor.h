/* Literals: concrete tensors (or sequences of them) with inline bytes or a window on a mapped file. */
#ifndef TN_IR_TENSOR_H
#define TN_IR_TENSOR_H

#include "ir/type.h"

typedef struct tn_lit {
  tn_type_kind kind; /* TENSOR; others use items (an empty optional has n_items 0; a map keys, values) */
  tn_dtype dtype;
  int rank;
  const int64_t *dims;
  int64_t count;    /* product of dims */
  const void *data; /* little-endian elements, packed as in base/dtype.h; strings: tn_str array. Any alignment */
  size_t bytes;
  const char *file;    /* external data: its location in the model's terms, else NULL */
  int64_t file_offset; /* of data in the file it is mapped from; -1 when it is memory */
  const struct tn_lit *const *items;
  int64_t n_items;
} tn_lit;

/* New literal with uninitialised, 64-byte aligned data in the arena. The count must have been checked. */
tn_lit *tn_lit_new(tn_arena *a, tn_dtype d, int rank, const int64_t *dims);
static inline void *tn_lit_data(tn_lit *l) { return (void *)(uintptr_t)l->data; } /* of a literal made by tn_lit_new */
tn_lit *tn_lit_i64(tn_arena *a, const int64_t *v, int64_t n);                     /* 1-D */
tn_lit *tn_lit_scalar_i64(tn_arena *a, tn_dtype d, int64_t v);                    /* rank 0 */
tn_lit *tn_lit_scalar_f64(tn_arena *a, tn_dtype d, double v);
/* The bit pattern of element i, for kinds of up to 64 bits; set_bits only on memory that is zero. */
uint64_t tn_lit_bits(const tn_lit *l, int64_t i);
void tn_lit_set_bits(tn_lit *l, int64_t i, uint64_t bits);
bool tn_lit_equal(const tn_lit *a, const tn_lit *b);                /* bit for bit */
tn_type tn_lit_type(tn_ctx *ctx, tn_symtab *syms, const tn_lit *l); /* with content when it is small enough */
static inline double tn_lit_f64(const tn_lit *l, int64_t i) { return tn_load_f64(l->dtype, l->data, i); }
static inline int64_t tn_lit_i64_at(const tn_lit *l, int64_t i) { return tn_load_i64(l->dtype, l->data, i); }

#endif
