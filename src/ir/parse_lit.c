/* Types and literals from text. */
#include "ir/parse_lit.h"

#include <math.h>

enum { LITPARSE_MAX_DEPTH = 8, LITPARSE_MAX_SPREAD = 64 << 20 };

static tn_loc litparse_at(const tn_scan *s) { return (tn_loc){.kind = "line", .index = s->tok.line}; }
#define litparse_fail(p, ...) tn_fail((p)->ctx, TN_INVALID, litparse_at((p)->s), __VA_ARGS__)

tn_status tn_parse_float(tn_scan *s, double *out) {
  const bool minus = tn_scan_take(s, "-");
  if (tn_scan_at(s, "inf"))
    *out = (double)INFINITY;
  else if (tn_scan_at(s, "nan"))
    *out = (double)NAN;
  else if (s->tok.kind == TN_TOK_FLOAT)
    *out = s->tok.f;
  else if (s->tok.kind == TN_TOK_INT)
    *out = (double)s->tok.i;
  else
    return tn_scan_fail(s, "a number");
  if (minus) *out = -*out;
  tn_scan_next(s);
  return TN_OK;
}

/* Types. */

static tn_status litparse_dim(tn_litparse *p, tn_sym *out) {
  *out = NULL;
  if (tn_scan_take(p->s, "?")) return TN_OK;
  TN_TRY(tn_sym_parse(p->syms, p->s, out));
  if ((*out)->kind == TN_SYM_OVERFLOW) return litparse_fail(p, "a dim is beyond int64");
  if (tn_sym_is_int(*out) && (*out)->k < 0) return litparse_fail(p, "dim %lld is negative", (long long)(*out)->k);
  return TN_OK;
}

static tn_status litparse_dims(tn_litparse *p, tn_type *out) { /* behind "[" */
  tn_sym dims[TN_MAX_RANK];
  int rank = 0;
  if (tn_scan_take(p->s, "*")) {
    out->rank = -1;
    return tn_scan_need(p->s, "]");
  }
  while (!tn_scan_take(p->s, "]")) {
    if (rank) TN_TRY(tn_scan_need(p->s, ","));
    if (rank == TN_MAX_RANK) return litparse_fail(p, "a tensor has at most %d dims", TN_MAX_RANK);
    TN_TRY(litparse_dim(p, &dims[rank]));
    rank++;
  }
  tn_sym *own = TN_NEW_ARRAY(&p->ctx->arena, tn_sym, rank > 0 ? rank : 1);
  for (int i = 0; i < rank; i++) own[i] = dims[i];
  out->rank = rank;
  out->dims = own;
  return TN_OK;
}

static tn_status litparse_dtype(tn_litparse *p, tn_dtype *out) {
  *out = p->s->tok.kind == TN_TOK_NAME ? tn_dtype_find(p->s->tok.text) : TN_DTYPE_NONE;
  if (*out == TN_DTYPE_NONE) return tn_scan_fail(p->s, "a type");
  tn_scan_next(p->s);
  return TN_OK;
}

static tn_status litparse_type(tn_litparse *p, tn_type *out, int depth);

static tn_status litparse_wrapped(tn_litparse *p, tn_type *out, int depth) { /* behind seq, opt or map */
  if (depth >= LITPARSE_MAX_DEPTH) return litparse_fail(p, "types are nested deeper than %d", LITPARSE_MAX_DEPTH);
  TN_TRY(tn_scan_need(p->s, "("));
  if (out->kind == TN_TYPE_MAP) {
    if (!tn_scan_take(p->s, "?")) TN_TRY(litparse_dtype(p, &out->dtype));
    TN_TRY(tn_scan_need(p->s, ","));
  }
  tn_type *elem = TN_NEW(&p->ctx->arena, tn_type);
  TN_TRY(litparse_type(p, elem, depth + 1));
  out->elem = elem;
  return tn_scan_need(p->s, ")");
}

static tn_status litparse_type(tn_litparse *p, tn_type *out, int depth) {
  *out = (tn_type){.kind = TN_TYPE_UNKNOWN};
  if (tn_scan_take(p->s, "seq"))
    out->kind = TN_TYPE_SEQUENCE;
  else if (tn_scan_take(p->s, "opt"))
    out->kind = TN_TYPE_OPTIONAL;
  else if (tn_scan_take(p->s, "map"))
    out->kind = TN_TYPE_MAP;
  if (out->kind != TN_TYPE_UNKNOWN) return litparse_wrapped(p, out, depth);
  if (tn_scan_take(p->s, "?")) {
    if (!tn_scan_at(p->s, "[") || p->s->tok.space_before) return TN_OK;
  } else {
    TN_TRY(litparse_dtype(p, &out->dtype));
  }
  out->kind = TN_TYPE_TENSOR;
  TN_TRY(tn_scan_need(p->s, "["));
  return litparse_dims(p, out);
}

tn_status tn_parse_type(tn_litparse *p, tn_type *out) { return litparse_type(p, out, 0); }

/* Literals. */

static tn_status litparse_shape(tn_litparse *p, tn_dtype *out_dtype, int *out_rank, int64_t *out_dims) {
  tn_type t;
  int64_t count;
  size_t bytes;
  TN_TRY(tn_parse_type(p, &t));
  if (!tn_type_const_dims(&t, out_dims) || !t.dtype)
    return litparse_fail(p, "a literal needs a type with constant dims");
  if (!tn_dims_count(out_dims, t.rank, &count) || !tn_dtype_bytes(t.dtype, count, &bytes))
    return litparse_fail(p, "a literal has too many elements");
  *out_dtype = t.dtype;
  *out_rank = t.rank;
  return TN_OK;
}

static tn_status litparse_bits(tn_litparse *p, tn_lit *l, int64_t i) { /* behind "bits" */
  int64_t bits;
  TN_TRY(tn_scan_need(p->s, "("));
  TN_TRY(tn_scan_need_int(p->s, &bits));
  const int width = tn_dtype_bits(l->dtype);
  if (width < 64 && (bits < 0 || bits >> width))
    return litparse_fail(p, "%lld has more than %d bits", (long long)bits, width);
  tn_lit_set_bits(l, i, (uint64_t)bits);
  return tn_scan_need(p->s, ")");
}

static tn_status litparse_int(tn_litparse *p, tn_lit *l, int64_t i) {
  int64_t v;
  TN_TRY(tn_scan_need_int(p->s, &v));
  tn_store_i64(l->dtype, tn_lit_data(l), i, v);
  if (tn_load_i64(l->dtype, l->data, i) != v)
    return litparse_fail(p, "%lld does not fit %s", (long long)v, tn_dtype_name(l->dtype));
  return TN_OK;
}

static tn_status litparse_elem(tn_litparse *p, tn_lit *l, int64_t i) {
  double f;
  switch (tn_dtype_cls(l->dtype)) {
    case TN_CLASS_STRING:
      if (p->s->tok.kind != TN_TOK_STRING) return tn_scan_fail(p->s, "a string");
      memcpy((char *)tn_lit_data(l) + (size_t)i * sizeof(tn_str), &p->s->tok.text, sizeof(tn_str));
      tn_scan_next(p->s);
      return TN_OK;
    case TN_CLASS_FLOAT:
      if (tn_scan_take(p->s, "bits")) return litparse_bits(p, l, i);
      TN_TRY(tn_parse_float(p->s, &f));
      tn_store_f64(l->dtype, tn_lit_data(l), i, f);
      return TN_OK;
    default:
      return litparse_int(p, l, i);
  }
}

static tn_lit *litparse_new(tn_litparse *p, tn_dtype d, int rank, const int64_t *dims) { /* zeroed */
  tn_lit *l = tn_lit_new(&p->ctx->arena, d, rank, dims);
  if (l->bytes) memset(tn_lit_data(l), 0, l->bytes);
  return l;
}

/* One element stands for all. What text cannot pay for by its length is bounded. */
static tn_status litparse_spread(tn_litparse *p, const tn_lit *first, tn_dtype d, int rank, const int64_t *dims,
                                 const tn_lit **out) {
  int64_t count;
  size_t bytes;
  if (!tn_dims_count(dims, rank, &count) || !tn_dtype_bytes(d, count, &bytes) ||
      !tn_add_size(p->spread_bytes, bytes, &p->spread_bytes) || p->spread_bytes > LITPARSE_MAX_SPREAD)
    return tn_fail(p->ctx, TN_LIMIT, litparse_at(p->s), "repeated elements take more than %d bytes",
                   LITPARSE_MAX_SPREAD);
  tn_lit *l = litparse_new(p, d, rank, dims);
  for (int64_t i = 0; i < count; i++) tn_copy_element(d, tn_lit_data(l), i, first->data, 0);
  *out = l;
  return TN_OK;
}

static tn_status litparse_elements(tn_litparse *p, tn_dtype d, int rank, const int64_t *dims, const tn_lit **out) {
  const bool is_complex = tn_dtype_cls(d) == TN_CLASS_COMPLEX;
  tn_lit *first = litparse_new(p, d, 0, NULL);
  int64_t count;
  if (!tn_dims_count(dims, rank, &count)) return litparse_fail(p, "a literal has too many elements");
  if (count > 0 && !is_complex) TN_TRY(litparse_elem(p, first, 0));
  if (count > 1 && tn_scan_at(p->s, ")")) return litparse_spread(p, first, d, rank, dims, out);
  if ((uint64_t)count > p->s->src.len)
    return litparse_fail(p, "the text is too short for %lld elements", (long long)count);
  tn_lit *l = litparse_new(p, d, rank, dims);
  *out = l;
  if (count == 0) return TN_OK;
  tn_lit parts = *l;
  if (is_complex) {
    parts.dtype = d == TN_C64 ? TN_F32 : TN_F64;
    parts.count = 2 * count;
    TN_TRY(litparse_elem(p, &parts, 0));
  } else {
    tn_copy_element(d, tn_lit_data(l), 0, first->data, 0);
  }
  for (int64_t i = 1; i < parts.count; i++) {
    TN_TRY(tn_scan_need(p->s, ","));
    TN_TRY(litparse_elem(p, &parts, i));
  }
  return TN_OK;
}

static tn_status litparse_dense(tn_litparse *p, const tn_lit **out) {
  tn_dtype d;
  int rank;
  int64_t dims[TN_MAX_RANK];
  TN_TRY(tn_scan_need(p->s, "("));
  TN_TRY(litparse_shape(p, &d, &rank, dims));
  TN_TRY(tn_scan_need(p->s, ":"));
  if (tn_scan_at(p->s, "hash"))
    return litparse_fail(p, "the text holds only a hash of this constant, not its elements");
  TN_TRY(litparse_elements(p, d, rank, dims, out));
  return tn_scan_need(p->s, ")");
}

static tn_status litparse_map(tn_litparse *p, const char *name, tn_bytes *out) {
  uint64_t at;
  if (!tn_map_find(&p->files, tn_map_key(name), &at)) {
    if (!p->dir) return litparse_fail(p, "external data is not allowed here");
    at = p->ctx->files.n;
    tn_vec_push(&p->ctx->arena, &p->ctx->files, NULL); /* first the place, then the file: nothing can be lost between */
    tn_error err = {0};
    const tn_status status = tn_file_map_inside(p->ctx->arena.allocator, p->dir, name, &p->ctx->files.at[at], &err);
    if (status != TN_OK) return tn_fail(p->ctx, status, litparse_at(p->s), "%s", err.text);
    tn_map_set(&p->ctx->arena, &p->files, tn_map_key(name), at);
  }
  *out = p->ctx->files.at[at]->bytes;
  return TN_OK;
}

/* "(" type "," STRING "," offset "," bytes ")" */
static tn_status litparse_file(tn_litparse *p, const tn_lit **out) {
  tn_lit *l = TN_NEW(&p->ctx->arena, tn_lit);
  int64_t dims[TN_MAX_RANK] = {0}, offset, bytes;
  tn_bytes file = {0};
  TN_TRY(tn_scan_need(p->s, "("));
  TN_TRY(litparse_shape(p, &l->dtype, &l->rank, dims));
  TN_TRY(tn_scan_need(p->s, ","));
  if (p->s->tok.kind != TN_TOK_STRING) return tn_scan_fail(p->s, "a file's name");
  const char *name = tn_ctx_name(p->ctx, p->s->tok.text);
  tn_scan_next(p->s);
  TN_TRY(tn_scan_need(p->s, ","));
  TN_TRY(tn_scan_need_int(p->s, &offset));
  TN_TRY(tn_scan_need(p->s, ","));
  TN_TRY(tn_scan_need_int(p->s, &bytes));
  if (l->dtype == TN_STR || !tn_dims_count(dims, l->rank, &l->count) || !tn_dtype_bytes(l->dtype, l->count, &l->bytes))
    return litparse_fail(p, "this type cannot be in a file");
  if (bytes < 0 || (uint64_t)bytes != l->bytes)
    return litparse_fail(p, "%lld bytes are given, the type takes %zu", (long long)bytes, l->bytes);
  TN_TRY(litparse_map(p, name, &file));
  if (offset < 0 || (uint64_t)offset > file.len || l->bytes > file.len - (size_t)offset)
    return litparse_fail(p, "%lld bytes at %lld are not in '%s', which has %zu", (long long)bytes, (long long)offset,
                         name, file.len);
  int64_t *own = TN_NEW_ARRAY(&p->ctx->arena, int64_t, l->rank > 0 ? l->rank : 1);
  memcpy(own, dims, (size_t)l->rank * sizeof dims[0]);
  l->kind = TN_TYPE_TENSOR;
  l->dims = own;
  l->data = file.ptr ? file.ptr + offset : NULL;
  l->file = name;
  l->file_offset = offset;
  *out = l;
  return tn_scan_need(p->s, ")");
}

static tn_status litparse_lit(tn_litparse *p, const tn_lit **out, int depth);

static tn_status litparse_items(tn_litparse *p, tn_type_kind kind, const tn_lit **out, int depth) {
  TN_VEC(const tn_lit *) items = {0};
  if (depth >= LITPARSE_MAX_DEPTH) return litparse_fail(p, "literals are nested deeper than %d", LITPARSE_MAX_DEPTH);
  TN_TRY(tn_scan_need(p->s, "("));
  while (!tn_scan_take(p->s, ")")) {
    const tn_lit *item = NULL;
    if (items.n) TN_TRY(tn_scan_need(p->s, ","));
    TN_TRY(litparse_lit(p, &item, depth + 1));
    tn_vec_push(&p->ctx->arena, &items, item);
  }
  if (kind == TN_TYPE_MAP &&
      (items.n != 2 || items.at[0]->kind != TN_TYPE_TENSOR || items.at[0]->rank != 1 ||
       items.at[1]->kind != TN_TYPE_TENSOR || items.at[1]->rank != 1 || items.at[0]->count != items.at[1]->count))
    return litparse_fail(p, "a map is its keys and its values, two vectors of one length");
  if (kind == TN_TYPE_OPTIONAL && items.n > 1) return litparse_fail(p, "an optional holds at most one element");
  tn_lit *l = TN_NEW(&p->ctx->arena, tn_lit);
  *l = (tn_lit){.kind = kind, .file_offset = -1, .items = items.at, .n_items = (int64_t)items.n};
  *out = l;
  return TN_OK;
}

static tn_status litparse_lit(tn_litparse *p, const tn_lit **out, int depth) {
  if (tn_scan_take(p->s, "dense")) return litparse_dense(p, out);
  if (tn_scan_take(p->s, "file")) return litparse_file(p, out);
  if (tn_scan_take(p->s, "seq")) return litparse_items(p, TN_TYPE_SEQUENCE, out, depth);
  if (tn_scan_take(p->s, "opt")) return litparse_items(p, TN_TYPE_OPTIONAL, out, depth);
  if (tn_scan_take(p->s, "map")) return litparse_items(p, TN_TYPE_MAP, out, depth);
  return tn_scan_fail(p->s, "a literal");
}

tn_status tn_parse_lit(tn_litparse *p, const tn_lit **out) { return litparse_lit(p, out, 0); }
