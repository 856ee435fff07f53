/* Look-up of operators and of their ONNX names in the scanned tables. */
#include "ir/op.h"

int tn_op_count(void) { return tn_op_rows_n; }
const tn_op *tn_op_at(int i) { return tn_op_rows[i]; }
int tn_onnx_count(void) { return tn_onnx_rows_n; }
const tn_onnx_row *tn_onnx_at(int i) { return tn_onnx_rows[i]; }

const tn_op *tn_op_find(const char *name) {
  int lo = 0, hi = tn_op_rows_n;
  while (lo < hi) {
    const int mid = lo + (hi - lo) / 2;
    const int order = strcmp(tn_op_rows[mid]->name, name);
    if (order == 0) return tn_op_rows[mid];
    if (order < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  return NULL;
}

int tn_op_shape_class(const tn_op *op) {
  if (op->sizes != TN_SIZES_TOLD) return op->sizes == TN_SIZES_BOUND ? 3 : 4;
  for (int i = 0; i < TN_MAX_PORTS && op->in[i].name; i++)
    if (op->in[i].flags & TN_PORT_SHAPES) return 2;
  return 1;
}

int tn_op_n_attrs(const tn_op *op) {
  int n = 0;
  while (n < TN_MAX_ATTRS && op->attrs[n].name) n++;
  return n;
}

int tn_op_attr_index(const tn_op *op, const char *name) {
  for (int i = 0; i < TN_MAX_ATTRS && op->attrs[i].name; i++)
    if (strcmp(op->attrs[i].name, name) == 0) return i;
  return -1;
}

const tn_attr *tn_op_attr(const tn_node *node, const char *name) {
  const int i = tn_op_attr_index(node->op, name);
  return i < 0 || node->attrs[i].kind == TN_ATTR_NONE ? NULL : &node->attrs[i];
}

bool tn_attr_row_default(const tn_attr_row *row, tn_attr *out) {
  *out = (tn_attr){.kind = TN_ATTR_NONE};
  const bool has = row->has_default || row->i != 0 || row->f < 0 || row->f > 0 || row->s;
  if (row->required || !has) return false;
  if (row->kind != TN_ATTR_INT && row->kind != TN_ATTR_DTYPE && row->kind != TN_ATTR_FLOAT && row->kind != TN_ATTR_STR)
    return false;
  out->kind = row->kind;
  if (row->kind == TN_ATTR_FLOAT)
    out->f = (double)(float)row->f;
  else if (row->kind == TN_ATTR_STR)
    out->s = tn_str_of(row->s ? row->s : "");
  else
    out->i = row->i;
  return true;
}

static const tn_port *op_port(const tn_port *ports, int i) {
  for (int p = 0; p < TN_MAX_PORTS && ports[p].name; p++)
    if (p == i || (ports[p].flags & TN_PORT_VARIADIC)) return &ports[p];
  return NULL;
}
const tn_port *tn_op_in_port(const tn_op *op, int i) { return op_port(op->in, i); }
const tn_port *tn_op_out_port(const tn_op *op, int i) { return op_port(op->out, i); }

static const char *op_port_fault(tn_arena *a, const tn_node *node) {
  const tn_op *op = node->op;
  for (int p = 0; p < TN_MAX_PORTS && op->in[p].name; p++) {
    if (op->in[p].flags & TN_PORT_OPTIONAL) continue;
    const char *name = op->in[p].name;
    if (p >= node->n_in)
      return tn_arena_printf(a, "%d inputs are too few: input %d (%s) is required", node->n_in, p, name);
    const int end = op->in[p].flags & TN_PORT_VARIADIC ? node->n_in : p + 1;
    for (int i = p; i < end; i++)
      if (!node->in[i]) return tn_arena_printf(a, "input %d (%s) is required but absent", i, name);
  }
  if (node->n_in > 0 && !tn_op_in_port(op, node->n_in - 1))
    return tn_arena_printf(a, "%d inputs are more than %s takes", node->n_in, op->name);
  if (node->n_out > 0 && !tn_op_out_port(op, node->n_out - 1))
    return tn_arena_printf(a, "%d outputs are more than %s has", node->n_out, op->name);
  return NULL;
}

const char *tn_op_fault(tn_arena *a, const tn_node *node) {
  const char *fault = op_port_fault(a, node);
  if (fault) return fault;
  const int n = tn_op_n_attrs(node->op);
  for (int i = 0; i < n; i++) {
    const tn_attr_row *row = &node->op->attrs[i];
    const tn_attr_kind kind = node->attrs[i].kind;
    if (row->kind == TN_ATTR_REGION || kind == row->kind) continue;
    if (kind != TN_ATTR_NONE)
      return tn_arena_printf(a, "attribute '%s' is %s, expected %s", row->name, tn_attr_kind_name(kind),
                             tn_attr_kind_name(row->kind));
    if (row->required) return tn_arena_printf(a, "attribute '%s' is required but absent", row->name);
  }
  if (node->n_regions == node->op->n_regions) return NULL;
  return tn_arena_printf(a, "%s owns %d regions, expected %d", node->op->name, node->n_regions, node->op->n_regions);
}

/* The scan sorts by tag, not by domain: a domain's place is that of its tag. */
static int onnx_place(const char *domain) {
  static const char *const places[] = {TN_DOMAIN_ai, TN_DOMAIN_ml, TN_DOMAIN_ms, TN_DOMAIN_preview, TN_DOMAIN_training};
  if (strcmp(domain, "ai.onnx") == 0) return 0;
  for (size_t i = 0; i < TN_COUNT(places); i++)
    if (strcmp(domain, places[i]) == 0) return (int)i;
  return -1;
}

static int onnx_order(const tn_onnx_row *row, int place, const char *name) {
  const int p = onnx_place(row->domain);
  return p != place ? p - place : strcmp(row->name, name);
}

const tn_onnx_row *tn_onnx_find(const char *domain, const char *name, int64_t version, bool *out_known) {
  const int place = onnx_place(domain);
  int lo = 0, hi = place < 0 ? 0 : tn_onnx_rows_n;
  while (lo < hi) { /* first row of the name */
    const int mid = lo + (hi - lo) / 2;
    if (onnx_order(tn_onnx_rows[mid], place, name) < 0)
      lo = mid + 1;
    else
      hi = mid;
  }
  const tn_onnx_row *found = NULL;
  bool known = false;
  for (int i = lo; place >= 0 && i < tn_onnx_rows_n && onnx_order(tn_onnx_rows[i], place, name) == 0; i++) {
    known = true;
    if (tn_onnx_rows[i]->since <= version && version <= tn_onnx_rows[i]->last) found = tn_onnx_rows[i];
  }
  if (out_known) *out_known = known;
  return found;
}
