/* Types of values: what is known of kind, element type, shape and content. */
#include "ir/type.h"

tn_type tn_type_tensor(tn_dtype d, int rank, const tn_sym *dims) {
  return (tn_type){.kind = TN_TYPE_TENSOR, .dtype = d, .rank = rank, .dims = dims};
}

static bool type_dims_same(const tn_type *a, const tn_type *b) {
  if (a->dtype != b->dtype || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

bool tn_type_same(const tn_type *a, const tn_type *b) {
  while (a && b) {
    if (a->kind != b->kind) return false;
    if (a->kind == TN_TYPE_UNKNOWN) return true;
    if (a->kind == TN_TYPE_TENSOR) return type_dims_same(a, b);
    if (a->kind == TN_TYPE_MAP && a->dtype != b->dtype) return false;
    a = a->elem;
    b = b->elem;
  }
  return a == b;
}

bool tn_type_const_dims(const tn_type *t, int64_t *out_dims) {
  if (!tn_type_has_rank(t) || t->rank > TN_MAX_RANK) return false;
  for (int i = 0; i < t->rank; i++) {
    if (!t->dims[i] || !tn_sym_is_int(t->dims[i])) return false;
    if (out_dims) out_dims[i] = t->dims[i]->k;
  }
  return true;
}

tn_sym tn_type_count(tn_symtab *syms, const tn_type *t) {
  tn_sym n = tn_sym_int(syms, 1);
  for (int i = 0; i < t->rank; i++) n = tn_sym_mul(syms, n, t->dims[i]);
  return n;
}

int64_t tn_type_content_count(const tn_type *t) {
  int64_t dims[TN_MAX_RANK], n;
  if (!t->content || !tn_type_const_dims(t, dims) || !tn_dims_count(dims, t->rank, &n)) return 0;
  return n;
}

enum { TYPE_MAX_NESTING = 8 };

static const tn_type *type_open(tn_arena *a, const tn_type *elem, int depth) {
  if (!elem || depth > TYPE_MAX_NESTING) return NULL;
  tn_type *out = TN_NEW(a, tn_type);
  *out = *elem;
  out->content = NULL;
  out->items = NULL;
  if (elem->elem) out->elem = type_open(a, elem->elem, depth + 1);
  if (!tn_type_has_rank(elem)) return out;
  tn_sym *dims = TN_NEW_ARRAY(a, tn_sym, elem->rank + 1);
  for (int j = 0; j < elem->rank; j++) dims[j] = elem->dims[j] && tn_sym_is_int(elem->dims[j]) ? elem->dims[j] : NULL;
  out->dims = dims;
  return out;
}

const tn_type *tn_type_open_elem(tn_arena *a, const tn_type *elem) { return type_open(a, elem, 0); }

static void type_join_tensor(tn_arena *a, tn_type *out, const tn_type *y) {
  const tn_type x = *out;
  if (!x.dtype || !y->dtype)
    out->dtype = x.dtype ? x.dtype : y->dtype;
  else if (x.dtype != y->dtype)
    out->dtype = TN_DTYPE_NONE;
  if (y->rank == TN_RANK_NO_ITEM) return;
  out->rank = x.rank == TN_RANK_NO_ITEM || x.rank == y->rank ? y->rank : -1;
  out->dims = out->rank < 0 ? NULL : y->dims;
  if (out->rank < 0 || x.rank != y->rank) return;
  tn_sym *const dims = TN_NEW_ARRAY(a, tn_sym, out->rank + 1);
  for (int j = 0; j < out->rank; j++) dims[j] = x.dims[j] == y->dims[j] ? x.dims[j] : NULL;
  out->dims = dims;
}

static const tn_type *type_join(tn_arena *a, const tn_type *x, const tn_type *y, int depth) {
  tn_type *const out = TN_NEW(a, tn_type);
  *out = (tn_type){.rank = -1};
  if (!x || !y || x->kind != y->kind || depth > TYPE_MAX_NESTING) return out;
  *out = *x;
  out->content = NULL;
  if (x->kind == TN_TYPE_TENSOR)
    type_join_tensor(a, out, y);
  else if (x->dtype != y->dtype)
    out->dtype = TN_DTYPE_NONE;
  if (x->elem || y->elem) out->elem = type_join(a, x->elem, y->elem, depth + 1);
  return out;
}

const tn_type *tn_type_join_elem(tn_arena *a, const tn_type *x, const tn_type *y) { return type_join(a, x, y, 0); }

static void type_print_tensor(tn_symtab *syms, tn_text *out, const tn_type *t) {
  tn_text_addz(out, tn_dtype_name(t->dtype));
  if (t->rank < 0) {
    tn_text_addz(out, "[*]");
    return;
  }
  tn_text_addz(out, "[");
  for (int i = 0; i < t->rank; i++) {
    if (i) tn_text_addz(out, ",");
    if (t->dims[i])
      tn_sym_print(syms, out, t->dims[i]);
    else
      tn_text_addz(out, "?");
  }
  tn_text_addz(out, "]");
}

void tn_type_print(tn_symtab *syms, tn_text *out, const tn_type *t) {
  int open = 0;
  for (; t && t->kind != TN_TYPE_UNKNOWN && t->kind != TN_TYPE_TENSOR; t = t->elem, open++) {
    if (t->kind == TN_TYPE_MAP)
      tn_text_printf(out, "map(%s, ", tn_dtype_name(t->dtype));
    else
      tn_text_addz(out, t->kind == TN_TYPE_SEQUENCE ? "seq(" : "opt(");
  }
  if (t && t->kind == TN_TYPE_TENSOR)
    type_print_tensor(syms, out, t);
  else
    tn_text_addz(out, "?");
  while (open-- > 0) tn_text_addz(out, ")");
}
