/* Stock importers and the pieces importers are made of. */
#include "ir/import.h"

static tn_import_attr *import_find(tn_import *im, const char *name) {
  for (int i = 0; i < im->n_attrs; i++)
    if (strcmp(im->attrs[i].name, name) == 0) return &im->attrs[i];
  return NULL;
}

static tn_status import_wrong_kind(tn_import *im, const tn_import_attr *a, tn_attr_kind want) {
  return tn_import_fail(im, TN_INVALID, "attribute '%s' is %s, expected %s", a->name, tn_attr_kind_name(a->value.kind),
                        tn_attr_kind_name(want));
}

/* An element type is an int in the file; a sparse tensor comes with its dense form. */
static bool import_fits(const tn_attr *a, tn_attr_kind want) {
  if (a->kind == want) return true;
  if (want == TN_ATTR_DTYPE) return a->kind == TN_ATTR_INT;
  return want == TN_ATTR_TENSOR && a->kind == TN_ATTR_SPARSE && a->tensor;
}

tn_status tn_import_get(tn_import *im, const char *name, tn_attr_kind kind, const tn_attr **out) {
  *out = NULL;
  tn_import_attr *a = import_find(im, name);
  if (!a) return TN_OK;
  a->used = true;
  if (!import_fits(&a->value, kind)) return import_wrong_kind(im, a, kind);
  *out = &a->value;
  return TN_OK;
}

tn_status tn_import_int(tn_import *im, const char *name, int64_t absent, int64_t *out) {
  const tn_attr *a;
  TN_TRY(tn_import_get(im, name, TN_ATTR_INT, &a));
  *out = a ? a->i : absent;
  return TN_OK;
}

tn_status tn_import_float(tn_import *im, const char *name, double absent, double *out) {
  const tn_attr *a;
  TN_TRY(tn_import_get(im, name, TN_ATTR_FLOAT, &a));
  *out = a ? a->f : absent;
  return TN_OK;
}

tn_status tn_import_str(tn_import *im, const char *name, const char *absent, tn_str *out) {
  const tn_attr *a;
  TN_TRY(tn_import_get(im, name, TN_ATTR_STR, &a));
  *out = a ? a->s : tn_str_of(absent);
  return TN_OK;
}

tn_status tn_import_ints(tn_import *im, const char *name, const int64_t **out, int64_t *out_n) {
  const tn_attr *a;
  TN_TRY(tn_import_get(im, name, TN_ATTR_INTS, &a));
  *out = a ? a->ints : NULL;
  *out_n = a ? a->n : 0;
  return TN_OK;
}

void tn_import_ignore(tn_import *im, const char *name) {
  tn_import_attr *a = import_find(im, name);
  if (a) a->used = true;
}

tn_status tn_import_check_used(tn_import *im) {
  for (int i = 0; i < im->n_attrs; i++)
    if (!im->attrs[i].used)
      return tn_import_fail(im, TN_INVALID, "attribute '%s' is not known to %s-%d", im->attrs[i].name, im->row->name,
                            im->row->since);
  return TN_OK;
}

tn_node *tn_import_node(tn_import *im, const char *op, tn_value *const *in, int n_in, int n_out) {
  const tn_op *found = tn_op_find(op);
  TN_ASSERT(found);
  return tn_edit_add_node(im->region, NULL, found, in, n_in, n_out, im->loc);
}

tn_value *tn_import_const_lit(tn_import *im, const tn_lit *lit) {
  tn_node *node = tn_import_node(im, "const", NULL, 0, 1);
  tn_edit_set_attr(node, "value", (tn_attr){.kind = TN_ATTR_TENSOR, .tensor = lit});
  tn_edit_set_type(node->out[0], tn_lit_type(im->ctx, im->graph->syms, lit));
  return node->out[0];
}

tn_value *tn_import_const_i64(tn_import *im, const int64_t *v, int64_t n) {
  return tn_import_const_lit(im, tn_lit_i64(&im->ctx->arena, v, n));
}

tn_value *tn_import_const_f32(tn_import *im, const double *v, int64_t n) {
  tn_lit *const lit = tn_lit_new(&im->ctx->arena, TN_F32, 1, &n);
  for (int64_t i = 0; i < n; i++) tn_store_f64(TN_F32, tn_lit_data(lit), i, v[i]);
  return tn_import_const_lit(im, lit);
}

tn_value *tn_import_const_strs(tn_import *im, const tn_str *v, int64_t n) {
  tn_lit *const lit = tn_lit_new(&im->ctx->arena, TN_STR, 1, &n);
  for (int64_t i = 0; i < n; i++) ((tn_str *)tn_lit_data(lit))[i] = v[i];
  return tn_import_const_lit(im, lit);
}

void tn_import_set_int(tn_node *node, const char *attr, int64_t v) {
  const int i = tn_op_attr_index(node->op, attr);
  TN_ASSERT(i >= 0);
  const tn_attr_kind kind = i >= 0 && node->op->attrs[i].kind == TN_ATTR_DTYPE ? TN_ATTR_DTYPE : TN_ATTR_INT;
  tn_edit_set_attr(node, attr, (tn_attr){.kind = kind, .i = v});
}

void tn_import_set_ints(tn_node *node, const char *attr, const int64_t *v, int64_t n) {
  int64_t *const own = TN_NEW_ARRAY(&node->region->graph->ctx->arena, int64_t, n);
  if (n > 0) memcpy(own, v, (size_t)n * sizeof *own);
  tn_edit_set_attr(node, attr, (tn_attr){.kind = TN_ATTR_INTS, .n = n, .ints = own});
}

void tn_import_set_float(tn_node *node, const char *attr, double v) {
  tn_edit_set_attr(node, attr, (tn_attr){.kind = TN_ATTR_FLOAT, .f = (double)(float)v});
}

void tn_import_set_str(tn_node *node, const char *attr, const char *v) {
  const char *own = tn_ctx_namez(node->region->graph->ctx, v);
  tn_edit_set_attr(node, attr, (tn_attr){.kind = TN_ATTR_STR, .s = tn_str_of(own)});
}

static tn_status import_copy_attr(tn_import *im, tn_import_attr *a, const tn_attr_row *row, tn_node *node) {
  if (!import_fits(&a->value, row->kind)) return import_wrong_kind(im, a, row->kind);
  tn_attr value = a->value;
  value.kind = row->kind;
  if (row->kind == TN_ATTR_DTYPE && value.i != TN_DTYPE_NONE &&
      (value.i < 0 || value.i >= TN_N_DTYPES || !tn_dtype_valid((int)value.i)))
    return tn_import_fail(im, TN_INVALID, "attribute '%s' is %lld, which is no element type", a->name,
                          (long long)value.i);
  tn_edit_set_attr(node, row->name, value);
  a->used = true;
  return TN_OK;
}

tn_status tn_import_copy_attrs(tn_import *im, tn_node *node) {
  for (int i = 0; i < im->n_attrs; i++) {
    tn_import_attr *a = &im->attrs[i];
    if (a->used) continue;
    const int row = tn_op_attr_index(node->op, a->name);
    if (row < 0 || node->op->attrs[row].kind == TN_ATTR_REGION) continue;
    TN_TRY(import_copy_attr(im, a, &node->op->attrs[row], node));
  }
  return TN_OK;
}

void tn_import_finish(tn_import *im, tn_node *node) {
  for (int i = 0; i < im->n_out; i++)
    if (im->out_present[i] && i < node->n_out) im->out[i] = node->out[i];
}

static int import_last_present(const tn_import *im) { /* number of outputs up to the last present one */
  int n = im->n_out;
  while (n > 0 && !im->out_present[n - 1]) n--;
  return n;
}

static tn_status import_regions(tn_import *im, tn_node *node) {
  int k = 0, depth = 0;
  for (const tn_region *r = im->region; r->owner; r = r->owner->region) depth++;
  if (node->n_regions > 0 && depth >= TN_MAX_NESTING)
    return tn_import_fail(im, TN_LIMIT, "graphs are nested deeper than %d", TN_MAX_NESTING);
  for (int i = 0; i < TN_MAX_ATTRS && node->op->attrs[i].name; i++) {
    const tn_attr_row *row = &node->op->attrs[i];
    if (row->kind != TN_ATTR_REGION) continue;
    const tn_attr *a;
    TN_TRY(tn_import_get(im, row->name, TN_ATTR_REGION, &a));
    if (!a) return tn_import_fail(im, TN_INVALID, "attribute '%s' is required but absent", row->name);
    if (k >= node->n_regions) return tn_import_fail(im, TN_INTERNAL, "%s has too few regions", node->op->name);
    TN_TRY(im->build_region(im, a, node->regions[k++]));
  }
  return TN_OK;
}

tn_status tn_import_same(tn_import *im) {
  int n_in = im->n_in;
  while (n_in > 0 && !im->in[n_in - 1]) n_in--;
  tn_node *node = tn_edit_add_named_node(im->region, NULL, im->row->op, im->in, n_in, im->out_names,
                                         import_last_present(im), im->loc);
  for (int i = 0; i < node->n_out; i++)
    if (!im->out_present[i]) tn_edit_drop_output(node, i);
  TN_TRY(tn_import_copy_attrs(im, node));
  TN_TRY(import_regions(im, node));
  TN_TRY(tn_import_check_used(im));
  tn_import_finish(im, node);
  return TN_OK;
}

tn_status tn_import_attr_to_input(tn_import *im, const char *attr, int input_index, tn_value **out) {
  const int64_t *v;
  int64_t n;
  TN_TRY(tn_import_ints(im, attr, &v, &n));
  *out = input_index < im->n_in ? im->in[input_index] : NULL;
  if (!v) return TN_OK;
  if (*out)
    return tn_import_fail(im, TN_INVALID, "attribute '%s' and input %d say the same thing twice", attr, input_index);
  *out = tn_import_const_i64(im, v, n);
  return TN_OK;
}
