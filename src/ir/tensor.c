/* Literals: concrete tensors. */
#include "ir/tensor.h"

enum { LIT_ALIGN = 64 };

tn_lit *tn_lit_new(tn_arena *a, tn_dtype d, int rank, const int64_t *dims) {
  tn_lit *l = TN_NEW(a, tn_lit);
  l->kind = TN_TYPE_TENSOR;
  l->dtype = d;
  l->rank = rank;
  l->file_offset = -1;
  int64_t *own = TN_NEW_ARRAY(a, int64_t, rank > 0 ? rank : 1);
  for (int i = 0; i < rank; i++) own[i] = dims[i];
  l->dims = own;
  size_t room;
  /* An unchecked count asks for more than there is, which ends as OOM. */
  if (!tn_dims_count(dims, rank, &l->count) || !tn_dtype_bytes(d, l->count, &l->bytes) ||
      !tn_add_size(l->bytes, LIT_ALIGN, &room))
    room = SIZE_MAX;
  char *p = tn_arena_alloc(a, room, 1);
  p += (LIT_ALIGN - (uintptr_t)p % LIT_ALIGN) % LIT_ALIGN;
  if (l->bytes) p[l->bytes - 1] = 0; /* packed kinds compare by bytes: no garbage behind the last element */
  l->data = p;
  return l;
}

tn_lit *tn_lit_i64(tn_arena *a, const int64_t *v, int64_t n) {
  tn_lit *l = tn_lit_new(a, TN_I64, 1, &n);
  if (n) memcpy(tn_lit_data(l), v, l->bytes);
  return l;
}

tn_lit *tn_lit_scalar_i64(tn_arena *a, tn_dtype d, int64_t v) {
  tn_lit *l = tn_lit_new(a, d, 0, NULL);
  tn_store_i64(d, tn_lit_data(l), 0, v);
  return l;
}

tn_lit *tn_lit_scalar_f64(tn_arena *a, tn_dtype d, double v) {
  tn_lit *l = tn_lit_new(a, d, 0, NULL);
  tn_store_f64(d, tn_lit_data(l), 0, v);
  return l;
}

uint64_t tn_lit_bits(const tn_lit *l, int64_t i) {
  const size_t bits = (size_t)tn_dtype_bits(l->dtype);
  const uint8_t *p = (const uint8_t *)l->data + (size_t)i * bits / 8;
  uint64_t v = 0;
  if (bits >= 8)
    memcpy(&v, p, bits / 8);
  else
    v = (*p >> ((size_t)i * bits % 8)) & ((1u << bits) - 1);
  return v;
}

void tn_lit_set_bits(tn_lit *l, int64_t i, uint64_t v) {
  const size_t bits = (size_t)tn_dtype_bits(l->dtype);
  uint8_t *p = (uint8_t *)tn_lit_data(l) + (size_t)i * bits / 8;
  if (bits >= 8)
    memcpy(p, &v, bits / 8);
  else
    *p = (uint8_t)(*p | (v & ((1u << bits) - 1)) << ((size_t)i * bits % 8));
}

static tn_str lit_string(const tn_lit *l, int64_t i) {
  tn_str s;
  memcpy(&s, (const char *)l->data + (size_t)i * sizeof s, sizeof s);
  return s;
}

static bool lit_tensor_equal(const tn_lit *a, const tn_lit *b) {
  if (a->dtype != b->dtype || a->rank != b->rank || a->bytes != b->bytes) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  if (a->dtype != TN_STR) return a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0;
  for (int64_t i = 0; i < a->count; i++)
    if (!tn_str_eq(lit_string(a, i), lit_string(b, i))) return false;
  return true;
}

bool tn_lit_equal(const tn_lit *a, const tn_lit *b) {
  if (a == b) return true;
  if (a->kind != b->kind) return false;
  if (a->kind == TN_TYPE_TENSOR) return lit_tensor_equal(a, b);
  if (a->n_items != b->n_items) return false;
  for (int64_t i = 0; i < a->n_items; i++)
    if (!tn_lit_equal(a->items[i], b->items[i])) return false;
  return true;
}

static const tn_elem *lit_content(tn_ctx *ctx, tn_symtab *syms, const tn_lit *l) {
  const tn_dtype_class cls = tn_dtype_cls(l->dtype);
  if (l->count > TN_MAX_CONTENT || cls == TN_CLASS_STRING || cls == TN_CLASS_COMPLEX) return NULL;
  tn_elem *e = TN_NEW_ARRAY(&ctx->arena, tn_elem, l->count > 0 ? l->count : 1);
  for (int64_t i = 0; i < l->count; i++) {
    if (cls == TN_CLASS_FLOAT) {
      e[i] = (tn_elem){.kind = TN_ELEM_F64, .f = tn_lit_f64(l, i)};
      continue;
    }
    const int64_t v = tn_lit_i64_at(l, i);
    if (l->dtype == TN_U64 && v < 0) continue; /* past int64: not known */
    e[i] = (tn_elem){.kind = TN_ELEM_SYM, .sym = tn_sym_int(syms, v)};
  }
  return e;
}

tn_type tn_lit_type(tn_ctx *ctx, tn_symtab *syms, const tn_lit *l) {
  if (l->kind == TN_TYPE_TENSOR) {
    tn_sym *dims = TN_NEW_ARRAY(&ctx->arena, tn_sym, l->rank > 0 ? l->rank : 1);
    for (int i = 0; i < l->rank; i++) dims[i] = tn_sym_int(syms, l->dims[i]);
    tn_type t = tn_type_tensor(l->dtype, l->rank, dims);
    t.content = lit_content(ctx, syms, l);
    return t;
  }
  tn_type *elem = TN_NEW(&ctx->arena, tn_type);
  if (l->n_items > 0) *elem = tn_lit_type(ctx, syms, l->items[0]);
  elem->content = NULL;
  for (int64_t i = 1; i < l->n_items; i++) { /* elements may differ in shape: keep what they share */
    const tn_type t = tn_lit_type(ctx, syms, l->items[i]);
    if (!tn_type_same(&t, elem)) *elem = tn_type_tensor(t.dtype == elem->dtype ? t.dtype : TN_DTYPE_NONE, -1, NULL);
  }
  return (tn_type){.kind = l->kind, .elem = elem};
}
