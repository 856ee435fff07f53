/* Inference of one node: operands against the schema, the rules, and the results against what was known before. */
#include "ir/infer.h"

#include "ir/edit.h"
#include "ir/ledger.h"

static const char *infer_kind_name(tn_type_kind k) {
  switch (k) {
    case TN_TYPE_TENSOR:
      return "a tensor";
    case TN_TYPE_SEQUENCE:
      return "a sequence";
    case TN_TYPE_OPTIONAL:
      return "an optional";
    case TN_TYPE_MAP:
      return "a map";
    case TN_TYPE_UNKNOWN:
      break;
  }
  return "unknown";
}

static const char *infer_type_text(const tn_rule *r, const tn_type *t) {
  tn_text text;
  tn_text_init(&text, &r->ctx->arena);
  tn_type_print(r->syms, &text, t);
  return tn_text_z(&text);
}

static const char *infer_set_text(const tn_rule *r, uint64_t set) { /* "f32, f16 or f64" */
  tn_text text;
  tn_text_init(&text, &r->ctx->arena);
  int left = 0, seen = 0;
  for (int d = 1; d < TN_N_DTYPES; d++) left += (set >> d) & 1 ? 1 : 0;
  for (int d = 1; d < TN_N_DTYPES; d++) {
    if (!((set >> d) & 1)) continue;
    left--;
    tn_text_printf(&text, "%s%s", seen++ == 0 ? "" : left == 0 ? " or " : ", ", tn_dtype_name((tn_dtype)d));
  }
  return tn_text_z(&text);
}

static tn_dtype infer_inner_dtype(const tn_type *t) {
  while (t && (t->kind == TN_TYPE_SEQUENCE || t->kind == TN_TYPE_OPTIONAL)) t = t->elem;
  return t && t->kind == TN_TYPE_TENSOR ? t->dtype : TN_DTYPE_NONE;
}

/* Operands against the schema. */

static tn_status infer_check_input(tn_rule *r, int i) {
  const tn_port *port = tn_op_in_port(r->node->op, i);
  const tn_type *t = r->in[i];
  if (t->kind == TN_TYPE_UNKNOWN) return TN_OK;
  const bool is_tensor = t->kind == TN_TYPE_TENSOR;
  const bool wants_sequence = (port->flags & TN_PORT_SEQUENCE) != 0;
  if (!(port->flags & TN_PORT_ANY_KIND) && is_tensor == wants_sequence)
    return tn_rule_fail(r, TN_MISMATCH, "input %d (%s) is %s, expected %s", i, port->name, infer_kind_name(t->kind),
                        wants_sequence ? "a sequence or optional" : "a tensor");
  for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++)
    if (!t->dims[j]) return tn_rule_fail(r, TN_INTERNAL, "dim %d of input %d (%s) is open", j, i, port->name);
  const tn_dtype d = infer_inner_dtype(t);
  if (!d || !port->dtypes || (port->dtypes >> d) & 1) return TN_OK;
  return tn_rule_fail(r, TN_MISMATCH, "input %d (%s) is %s, expected %s", i, port->name, tn_dtype_name(d),
                      infer_set_text(r, port->dtypes));
}

/* Inputs of one group have one element type; first[] holds the first known member by the port that opens the group. */
static tn_status infer_check_groups(tn_rule *r) {
  const tn_op *op = r->node->op;
  int first[TN_MAX_PORTS];
  for (int p = 0; p < TN_MAX_PORTS; p++) first[p] = -1;
  for (int i = 0; i < r->n_in; i++) {
    if (!r->in[i]) continue;
    const tn_port *port = tn_op_in_port(op, i);
    const tn_dtype d = infer_inner_dtype(r->in[i]);
    if (!port->same || !d || (port->flags & TN_PORT_MIXED)) continue;
    int group = 0;
    while (!op->in[group].same || strcmp(op->in[group].same, port->same) != 0) group++;
    if (first[group] < 0) first[group] = i;
    const int k = first[group];
    const tn_dtype known = infer_inner_dtype(r->in[k]);
    if (known != d)
      return tn_rule_fail(r, TN_MISMATCH, "inputs %d (%s) and %d (%s) differ in element type: %s and %s", k,
                          tn_op_in_port(op, k)->name, i, port->name, tn_dtype_name(known), tn_dtype_name(d));
  }
  return TN_OK;
}

static tn_status infer_check_schema(tn_rule *r) {
  const char *fault = tn_op_fault(&r->ctx->arena, r->node);
  if (fault) return tn_rule_fail(r, TN_INVALID, "%s", fault);
  for (int i = 0; i < r->n_in; i++)
    if (r->in[i]) TN_TRY(infer_check_input(r, i));
  return infer_check_groups(r);
}

/* What the rules say. */

/* An expression past the size limit becomes a symbol, the same one every time. */
static tn_sym infer_bound_size(tn_rule *r, tn_sym e, const char *stem) {
  if (e->size <= TN_SYM_MAX_SIZE) return e;
  uint64_t number;
  if (tn_map_find(&r->graph->bounded, e->id, &number)) return tn_sym_symbol(r->syms, (uint32_t)number)->var;
  const tn_sym s = tn_sym_bound_size(r->syms, e, stem);
  if (tn_sym_is_var(s)) tn_map_set(&r->ctx->arena, &r->graph->bounded, e->id, (uint64_t)s->k);
  return s;
}

static tn_status infer_check_dim(tn_rule *r, int i, int j, tn_sym d) {
  if (!d)
    return tn_rule_fail(r, TN_INTERNAL, "the shape rule of %s left dim %d of output %d open", r->node->op->name, j, i);
  if (d->kind == TN_SYM_OVERFLOW) return tn_rule_fail(r, TN_LIMIT, "dim %d of output %d is beyond int64", j, i);
  if (tn_sym_bounds(r->syms, d).hi < 0)
    return tn_rule_fail(r, TN_MISMATCH, "dim %d of output %d is negative: %s", j, i, tn_sym_text(r->syms, d));
  return TN_OK;
}

static tn_status infer_check_shape(tn_rule *r, int i) {
  tn_type *t = &r->out[i];
  if (!tn_type_has_rank(t)) return TN_OK;
  if (t->rank > TN_MAX_RANK)
    return tn_rule_fail(r, TN_LIMIT, "output %d has rank %d, the most is %d", i, t->rank, TN_MAX_RANK);
  tn_sym dims[TN_MAX_RANK];
  bool changed = false;
  for (int j = 0; j < t->rank; j++) {
    TN_TRY(infer_check_dim(r, i, j, t->dims[j]));
    dims[j] = tn_ledger_shorter(r->graph, t->dims[j]);
    dims[j] = infer_bound_size(r, dims[j], r->node->out[i] ? r->node->out[i]->name : "u");
    changed |= dims[j] != t->dims[j];
  }
  if (changed) tn_rule_set(r, i, t->rank, dims);
  return TN_OK;
}

static void infer_bound_content(tn_rule *r, int i) {
  tn_type *t = &r->out[i];
  const int64_t n = tn_type_content_count(t);
  bool large = false;
  for (int64_t k = 0; k < n; k++) large |= t->content[k].sym && t->content[k].sym->size > TN_SYM_MAX_SIZE;
  if (!large) return;
  tn_elem *own = tn_rule_elems(r, n);
  for (int64_t k = 0; k < n; k++) {
    own[k] = t->content[k];
    if (own[k].sym) own[k].sym = infer_bound_size(r, own[k].sym, r->node->out[i]->name);
  }
  t->content = own;
}

/* An attribute may name an element type that the result cannot have. */
static tn_status infer_check_dtype(tn_rule *r, int i) {
  const tn_port *port = tn_op_out_port(r->node->op, i);
  const tn_type *out = &r->out[i];
  if (!r->out_present[i] || !port || !port->dtypes || out->kind != TN_TYPE_TENSOR || out->dtype == TN_DTYPE_NONE)
    return TN_OK;
  if (!tn_dtype_valid((int)out->dtype)) return tn_rule_fail(r, TN_INVALID, "output %d has no element type", i);
  if (port->dtypes >> out->dtype & 1) return TN_OK;
  return tn_rule_fail(r, TN_INVALID, "output %d cannot have element type %s", i, tn_dtype_name(out->dtype));
}

static tn_status infer_run_rules(tn_rule *r) {
  const tn_op *op = r->node->op;
  if (op->type) TN_TRY_WHILE(r->ctx, op->type(r), "inferring the element type of %s", op->name);
  for (int i = 0; i < r->n_out; i++) TN_TRY(infer_check_dtype(r, i));
  if (op->shape) TN_TRY_WHILE(r->ctx, op->shape(r), "inferring the shape of %s", op->name);
  for (int i = 0; i < r->n_out; i++) TN_TRY(infer_check_shape(r, i));
  if (op->value) TN_TRY_WHILE(r->ctx, op->value(r), "inferring the content of %s", op->name);
  for (int i = 0; i < r->n_out; i++)
    if (r->out_present[i]) infer_bound_content(r, i);
  return TN_OK;
}

/* What was known before. */

static bool infer_is_marked(const tn_graph *g, const tn_value *v) {
  return v->id < g->inferred.n && g->inferred.at[v->id] != 0;
}

static void infer_mark(tn_graph *g, const tn_value *v) {
  while (g->inferred.n <= v->id) tn_vec_push(&g->ctx->arena, &g->inferred, 0);
  g->inferred.at[v->id] = 1;
}

/* A claimed dim becomes a fact: an open one, or a name that stands for nothing else, is what the run gives. */
static tn_sym infer_adopt_dim(tn_rule *r, const tn_value *v, int j, tn_sym claimed) {
  if (!claimed) return tn_rule_fresh(r, v->index, j, 0, NULL);
  if (!tn_sym_is_var(claimed)) return claimed;
  tn_symbol *s = tn_sym_symbol(r->syms, (uint32_t)claimed->k);
  if (s->source != TN_SOURCE_NONE) return claimed;
  s->source = TN_SOURCE_DIM;
  s->value = v->id;
  s->index = j;
  tn_map_set(&r->ctx->arena, &r->graph->fresh, (uint64_t)v->id << 32 | (uint32_t)j, (uint64_t)claimed->k);
  return claimed;
}

static void infer_adopt_shape(tn_rule *r, const tn_value *v, const tn_type *claim, tn_type *out) {
  tn_sym *dims = tn_rule_dims(r, claim->rank);
  for (int j = 0; j < claim->rank; j++) dims[j] = infer_adopt_dim(r, v, j, claim->dims[j]);
  out->rank = claim->rank;
  out->dims = dims;
}

static bool infer_dims_contradict(const tn_type *a, const tn_type *b) {
  if (a->rank != b->rank) return true;
  for (int j = 0; j < a->rank; j++)
    if (a->dims[j] && b->dims[j] && tn_sym_is_int(a->dims[j]) && tn_sym_is_int(b->dims[j]) && a->dims[j] != b->dims[j])
      return true;
  return false;
}

static bool infer_contradict(const tn_type *a, const tn_type *b) {
  if (a->kind != b->kind) return true;
  if (a->kind != TN_TYPE_TENSOR) return false;
  if (a->dtype && b->dtype && a->dtype != b->dtype) return true;
  return a->rank >= 0 && b->rank >= 0 && infer_dims_contradict(a, b);
}

static void infer_join_claim(tn_rule *r, const tn_value *v, tn_type *out) {
  const tn_type *claim = &v->type;
  if (claim->kind == TN_TYPE_UNKNOWN) return;
  if (out->kind == TN_TYPE_UNKNOWN) {
    *out = *claim;
    out->content = NULL;
    out->elem = tn_type_open_elem(&r->ctx->arena, claim->elem);
    if (tn_type_has_rank(claim)) infer_adopt_shape(r, v, claim, out);
    return;
  }
  if (infer_contradict(claim, out))
    tn_warn(r->ctx, r->loc, "value '%s' is declared %s but inferred %s", v->name, infer_type_text(r, claim),
            infer_type_text(r, out));
  if (claim->kind != out->kind) return;
  if (out->kind != TN_TYPE_TENSOR) {
    if (!out->elem || out->elem->kind == TN_TYPE_UNKNOWN) out->elem = tn_type_open_elem(&r->ctx->arena, claim->elem);
    return;
  }
  if (!out->dtype) out->dtype = claim->dtype;
  if (out->rank < 0 && claim->rank >= 0) infer_adopt_shape(r, v, claim, out);
}

/* In the main graph facts only get sharper. In a region they may widen: a loop's state is inferred until it is stable.
 */
static tn_status infer_join_fact(tn_rule *r, const tn_value *v, tn_type *out) {
  const tn_type *old = &v->type;
  if (v->region->owner) return TN_OK;
  if (out->kind == TN_TYPE_UNKNOWN) {
    *out = *old;
    return TN_OK;
  }
  if (infer_contradict(old, out))
    return tn_rule_fail(r, TN_INTERNAL, "value '%s' was inferred %s and is now %s", v->name, infer_type_text(r, old),
                        infer_type_text(r, out));
  if (out->kind != TN_TYPE_TENSOR) return TN_OK;
  if (!out->dtype) out->dtype = old->dtype;
  if (out->rank < 0) {
    out->rank = old->rank;
    out->dims = old->dims;
  }
  tn_sym *dims = tn_rule_dims(r, out->rank);
  for (int j = 0; j < out->rank; j++) dims[j] = tn_sym_is_int(old->dims[j]) ? old->dims[j] : out->dims[j];
  out->dims = dims;
  if (!out->content && old->content && infer_dims_contradict(old, out) == false) out->content = old->content;
  return TN_OK;
}

static tn_status infer_store(tn_rule *r, int i) {
  tn_value *v = r->node->out[i];
  if (!v) return TN_OK;
  tn_type out = r->out[i];
  const bool was_inferred = infer_is_marked(r->graph, v);
  const bool ruled = out.kind != TN_TYPE_UNKNOWN && (out.kind != TN_TYPE_TENSOR || out.rank >= 0);
  if (was_inferred)
    TN_TRY(infer_join_fact(r, v, &out));
  else
    infer_join_claim(r, v, &out);
  tn_edit_set_type(v, out);
  if (was_inferred || ruled) infer_mark(r->graph, v);
  return TN_OK;
}

/* Loops infer their bodies several times, so loops in loops multiply. Real models stay far below. */
static tn_status infer_count(tn_graph *g, const tn_node *node) {
  enum { BASE = 200000, PER_NODE = 64 };
  if (!node->region->owner) g->region_work = 0;
  if (g->region_work++ <= BASE + PER_NODE * (int64_t)g->n_nodes) return TN_OK;
  return tn_fail(g->ctx, TN_LIMIT, node->loc, "loops are nested in a way that takes too long to infer");
}

static int infer_port_rank(const tn_node *node, const tn_port *port) {
  if (port->rank) return port->rank;
  const tn_value *other = port->rank_as && port->rank_as <= node->n_in ? node->in[port->rank_as - 1] : NULL;
  return other && tn_type_has_rank(&other->type) ? other->type.rank : 0;
}

/* Where an operator demands a rank of a value whose rank only the run can tell, the value is pinned to it: the shapes
 * behind are then expressions again, and the run checks. */
static tn_status infer_pin_ranks(tn_graph *g, tn_node *node) {
  for (int i = 0; i < node->n_in && i < TN_MAX_PORTS && node->op->in[i].name; i++) {
    tn_value *v = node->in[i];
    const int rank = infer_port_rank(node, &node->op->in[i]);
    if (!v || v->type.kind != TN_TYPE_TENSOR || v->type.rank >= 0 || rank == 0) continue;
    tn_node *pin = tn_edit_add_node(node->region, node, tn_op_find("pin_rank"), &v, 1, 1, node->loc);
    tn_edit_set_attr(pin, "rank", (tn_attr){.kind = TN_ATTR_INT, .i = rank});
    TN_TRY(tn_infer_node(g, pin));
    tn_edit_set_input(node, i, pin->out[0]);
  }
  return TN_OK;
}

tn_status tn_infer_node(tn_graph *g, tn_node *node) {
  TN_TRY(infer_count(g, node));
  TN_TRY(infer_pin_ranks(g, node));
  tn_arena *a = &g->ctx->arena;
  const tn_type *few_in[8];
  tn_type few_out[4] = {{0}};
  bool few_present[4];
  const bool few = (size_t)node->n_out <= TN_COUNT(few_out);
  const tn_type **in = (size_t)node->n_in <= TN_COUNT(few_in) ? few_in : TN_NEW_ARRAY(a, const tn_type *, node->n_in);
  bool *present = few ? few_present : TN_NEW_ARRAY(a, bool, node->n_out);
  for (int i = 0; i < node->n_in; i++) in[i] = node->in[i] ? &node->in[i]->type : NULL;
  for (int i = 0; i < node->n_out; i++) present[i] = node->out[i] != NULL;
  tn_rule r = {.ctx = g->ctx,
               .graph = g,
               .syms = g->syms,
               .node = node,
               .loc = node->loc,
               .n_in = node->n_in,
               .n_out = node->n_out,
               .in = in,
               .out = few ? few_out : TN_NEW_ARRAY(a, tn_type, node->n_out),
               .out_present = present};
  TN_TRY(infer_check_schema(&r));
  TN_TRY(infer_run_rules(&r));
  for (int i = 0; i < r.n_out; i++) TN_TRY(infer_store(&r, i));
  if (!tn_infer_literal(g, node, r.out)) return TN_OK;
  for (int i = 0; i < r.n_out; i++) TN_TRY(infer_store(&r, i));
  return TN_OK;
}

tn_status tn_infer_region(tn_graph *g, tn_region *region) {
  for (tn_node *node = region->first; node; node = node->next) TN_TRY(tn_infer_node(g, node));
  return TN_OK;
}
