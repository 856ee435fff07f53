/* TypeProto to types; which dim_params are names and which are expressions. */
#include "onnx/type.h"

#include <inttypes.h>

#include "onnx/tensor.h"

enum { TYPE_MAX_DEPTH = 16 };

static bool type_is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool type_is_digit(char c) { return c >= '0' && c <= '9'; }

/* The next name in an expression's text from *at on: an identifier that is not called, or a quoted name. False at the
 * end. */
static bool type_next_name(tn_str s, size_t *at, tn_str *out) {
  size_t i = *at;
  while (i < s.len) {
    const size_t from = i;
    if (s.ptr[i] == '"') {
      i++;
      while (i < s.len && s.ptr[i] != '"') i++;
      *out = (tn_str){s.ptr + from + 1, i - from - 1};
      *at = i < s.len ? i + 1 : i;
      return true;
    }
    if (!type_is_letter(s.ptr[i])) {
      i++;
      continue;
    }
    while (i < s.len && (type_is_letter(s.ptr[i]) || type_is_digit(s.ptr[i]) || s.ptr[i] == '.')) i++;
    *out = (tn_str){s.ptr + from, i - from};
    while (i < s.len && s.ptr[i] == ' ') i++;
    if (i < s.len && s.ptr[i] == '(') continue; /* a function */
    if (tn_str_is(*out, "and") || tn_str_is(*out, "or") || tn_str_is(*out, "not")) continue;
    *at = i;
    return true;
  }
  *at = i;
  return false;
}

static bool type_is_name(tn_str s) {
  bool operators = false, digits = true;
  for (size_t i = 0; i < s.len; i++) {
    if (memchr("+-*/%(", s.ptr[i], 6)) operators = true;
    if (!type_is_digit(s.ptr[i])) digits = false;
  }
  return !operators && !digits;
}

/* "batch-size" is a name: nobody writes a difference of names without spaces. */
static bool type_has_hyphen(tn_str s) {
  for (size_t i = 1; i + 1 < s.len; i++)
    if (s.ptr[i] == '-' && (type_is_letter(s.ptr[i - 1]) || type_is_digit(s.ptr[i - 1])) &&
        type_is_letter(s.ptr[i + 1]))
      return true;
  return false;
}

static bool type_is_declared(const tn_onnx_types *ts, tn_str name) {
  const char *interned = tn_intern_find(&ts->ctx->names, name);
  return interned && tn_map_find(&ts->declared, tn_map_key(interned), NULL);
}

static int type_count_undeclared(const tn_onnx_types *ts, tn_str s) {
  int n = 0;
  size_t at = 0;
  tn_str name;
  while (n < 2 && type_next_name(s, &at, &name)) n += !type_is_declared(ts, name);
  return n;
}

static tn_sym type_symbol(tn_onnx_types *ts, tn_str name) {
  return tn_sym_add_symbol(ts->syms, tn_ctx_name(ts->ctx, name))->var;
}

tn_sym tn_onnx_dim_known(tn_onnx_types *ts, tn_str text) {
  tn_sym dim = NULL;
  if (text.len == 0) return NULL;
  if (type_is_declared(ts, text)) return type_symbol(ts, text);
  if (type_is_name(text) || type_count_undeclared(ts, text) > 0) return NULL;
  return tn_sym_try_parse(ts->syms, text, &dim) ? dim : NULL;
}

/* An expression with one new name still says what that name is (16*H); with two it is more likely a name itself. */
static tn_sym type_input_dim(tn_onnx_types *ts, tn_str text) {
  tn_sym dim = NULL;
  const int undeclared = type_count_undeclared(ts, text);
  const bool expression = !type_is_name(text) && !type_is_declared(ts, text) && undeclared < 2 &&
                          !(undeclared == 1 && type_has_hyphen(text));
  if (expression && tn_sym_try_parse(ts->syms, text, &dim)) return dim;
  return type_symbol(ts, text);
}

typedef struct type_walk {
  tn_onnx_types *ts;
  tn_onnx_type_role role;
  tn_loc loc;
  bool declare; /* only note names */
} type_walk;

static tn_status type_dim(const type_walk *w, tn_bytes bytes, int index, tn_sym *out) {
  tn_pb_dim d;
  tn_onnx_types *ts = w->ts;
  TN_TRY(tn_pb_read_dim(ts->ctx, bytes, w->loc, &d));
  if (tn_str_is(d.dim_param, "?")) d.dim_param.len = 0; /* exporters mean "some size", not one size everywhere */
  if (w->declare) {
    if (d.dim_param.len && type_is_name(d.dim_param))
      tn_map_set(&ts->ctx->arena, &ts->declared, tn_map_key(tn_ctx_name(ts->ctx, d.dim_param)), 1);
    return TN_OK;
  }
  if (d.dim_value.has) {
    if (d.dim_value.v >= 0)
      *out = tn_sym_int(ts->syms, d.dim_value.v);
    else
      tn_warn(ts->ctx, w->loc, "dim %d is negative (%" PRId64 "): taken as unknown", index, d.dim_value.v);
    return TN_OK;
  }
  if (d.dim_param.len == 0) return TN_OK;
  tn_sym dim = w->role == TN_ONNX_INPUT ? type_input_dim(ts, d.dim_param) : tn_onnx_dim_known(ts, d.dim_param);
  if (dim && tn_sym_is_int(dim) && dim->k < 0) {
    tn_warn(ts->ctx, w->loc, "dim %d is negative (%" PRId64 "): taken as unknown", index, dim->k);
    dim = NULL;
  }
  *out = dim;
  return TN_OK;
}

static tn_status type_tensor(const type_walk *w, tn_bytes bytes, tn_type *out) {
  tn_pb_tensor_type t;
  tn_pb_shape shape;
  tn_ctx *ctx = w->ts->ctx;
  tn_dtype dtype;
  TN_TRY(tn_pb_read_tensor_type(ctx, bytes, w->loc, &t));
  TN_TRY(tn_onnx_dtype(ctx, t.elem_type.v, w->loc, &dtype));
  *out = tn_type_tensor(dtype, -1, NULL);
  if (!t.shape.ptr) return TN_OK;
  TN_TRY(tn_pb_read_shape(ctx, t.shape, w->loc, &shape));
  if (shape.dim.n > TN_MAX_RANK)
    return tn_fail(ctx, TN_LIMIT, w->loc, "rank %zu is beyond the %d dims a tensor may have", shape.dim.n, TN_MAX_RANK);
  tn_sym *dims = TN_NEW_ARRAY(&ctx->arena, tn_sym, shape.dim.n + 1);
  for (size_t i = 0; i < shape.dim.n; i++) TN_TRY(type_dim(w, shape.dim.at[i], (int)i, &dims[i]));
  *out = tn_type_tensor(dtype, (int)shape.dim.n, dims);
  return TN_OK;
}

static tn_status type_any(const type_walk *w, tn_bytes bytes, int depth, tn_type *out);

static tn_status type_holder(const type_walk *w, tn_bytes bytes, tn_type_kind kind, int depth, tn_type *out) {
  tn_pb_holder_type h;
  tn_ctx *ctx = w->ts->ctx;
  TN_TRY(tn_pb_read_holder_type(ctx, bytes, w->loc, &h));
  tn_type *elem = TN_NEW(&ctx->arena, tn_type);
  if (h.elem_type.ptr) TN_TRY(type_any(w, h.elem_type, depth + 1, elem));
  out->kind = kind;
  out->elem = elem;
  return TN_OK;
}

/* The values of a map are single numbers or texts, whatever shape is written with them. */
static tn_status type_map(const type_walk *w, tn_bytes bytes, int depth, tn_type *out) {
  tn_pb_map_type m;
  tn_ctx *ctx = w->ts->ctx;
  TN_TRY(tn_pb_read_map_type(ctx, bytes, w->loc, &m));
  tn_type *elem = TN_NEW(&ctx->arena, tn_type);
  TN_TRY(tn_onnx_dtype(ctx, m.key_type.v, w->loc, &out->dtype));
  if (m.value_type.ptr) TN_TRY(type_any(w, m.value_type, depth + 1, elem));
  if (elem->kind == TN_TYPE_TENSOR) *elem = tn_type_tensor(elem->dtype, 0, NULL);
  out->kind = TN_TYPE_MAP;
  out->rank = -1;
  out->elem = elem;
  return TN_OK;
}

static tn_status type_any(const type_walk *w, tn_bytes bytes, int depth, tn_type *out) {
  tn_pb_type t;
  tn_ctx *ctx = w->ts->ctx;
  memset(out, 0, sizeof *out);
  if (depth > TYPE_MAX_DEPTH) return tn_fail(ctx, TN_INVALID, w->loc, "its type is nested too deeply");
  TN_TRY(tn_pb_read_type(ctx, bytes, w->loc, &t));
  if (t.tensor_type.ptr) return type_tensor(w, t.tensor_type, out);
  if (t.sequence_type.ptr) return type_holder(w, t.sequence_type, TN_TYPE_SEQUENCE, depth, out);
  if (t.optional_type.ptr) return type_holder(w, t.optional_type, TN_TYPE_OPTIONAL, depth, out);
  if (t.map_type.ptr) return type_map(w, t.map_type, depth, out);
  if (t.sparse_tensor_type.ptr) return tn_fail(ctx, TN_UNSUPPORTED, w->loc, "sparse tensor types are not supported");
  if (t.opaque_type.ptr) return tn_fail(ctx, TN_UNSUPPORTED, w->loc, "opaque types are not supported");
  return TN_OK;
}

tn_status tn_onnx_type_declare(tn_onnx_types *ts, tn_bytes bytes, tn_loc loc) {
  const type_walk w = {ts, TN_ONNX_INPUT, loc, true};
  tn_type ignored;
  return type_any(&w, bytes, 0, &ignored);
}

tn_status tn_onnx_type_read(tn_onnx_types *ts, tn_bytes bytes, tn_onnx_type_role role, tn_loc loc, tn_type *out) {
  const type_walk w = {ts, role, loc, false};
  return type_any(&w, bytes, 0, out);
}

const char *tn_onnx_dim_text(tn_symtab *syms, tn_sym dim) {
  if (tn_sym_is_var(dim)) return tn_sym_symbol(syms, (uint32_t)dim->k)->name;
  return tn_sym_text(syms, dim);
}
