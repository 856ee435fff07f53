/* Graph to text. What is printed reads back to the same graph, so that printing that again gives the same bytes. */
#include <math.h>

#include "base/hash.h"
#include "ir/mark.h"
#include "ir/op.h"
#include "ir/text.h"

enum { IRPRINT_SHORT = 64, IRPRINT_SPLAT = 4, IRPRINT_MAX_NESTING = 100 };

typedef struct irprint {
  tn_graph *g;
  tn_text *out;
  uint32_t flags;
  const char **names;    /* by value id; NULL = no such value any more */
  bool *used;            /* by symbol number */
  bool *printed;         /* by symbol number: has its line */
  TN_VEC(uint32_t) todo; /* used symbols whose definitions were not looked at */
  int nesting;
  bool *implied; /* by symbol number: a parameter's dim says all there is to say */
  uint32_t n_symbols;
  size_t *first_check; /* by region id: 1 + the first check of the region, 0 = none */
  size_t *next_check;  /* by check: 1 + the next of its region */
} irprint;

static void irprint_z(irprint *p, const char *z) { tn_text_addz(p->out, z); }

static void irprint_indent(irprint *p, int depth) {
  while (depth-- > 0) irprint_z(p, "  ");
}

static bool irprint_is_name(const char *z) {
  if (!((z[0] >= 'a' && z[0] <= 'z') || (z[0] >= 'A' && z[0] <= 'Z') || z[0] == '_')) return false;
  for (; *z; z++)
    if (!((*z >= 'a' && *z <= 'z') || (*z >= 'A' && *z <= 'Z') || (*z >= '0' && *z <= '9') || *z == '_' || *z == '.'))
      return false;
  return true;
}

static void irprint_name(irprint *p, const char *z) {
  if (irprint_is_name(z))
    irprint_z(p, z);
  else
    tn_text_quote(p->out, tn_str_of(z));
}

static void irprint_value(irprint *p, const tn_value *v) {
  if (!v) {
    irprint_z(p, "_");
    return;
  }
  irprint_z(p, "%");
  irprint_name(p, v->name);
}

static void irprint_values(irprint *p, tn_value *const *v, int n) {
  for (int i = 0; i < n; i++) {
    if (i) irprint_z(p, ", ");
    irprint_value(p, v[i]);
  }
}

static void irprint_type(irprint *p, const tn_type *t) { tn_type_print(p->g->syms, p->out, t); }

/* Literals. */

static void irprint_float(irprint *p, const tn_lit *l, int64_t i) {
  const double v = tn_lit_f64(l, i);
  uint64_t room = 0;
  tn_lit back = {.dtype = l->dtype, .data = &room};
  tn_store_f64(l->dtype, &room, 0, isnan(v) ? (double)NAN : v);
  if (tn_lit_bits(&back, 0) != tn_lit_bits(l, i)) /* a NaN that is not the usual one */
    tn_text_printf(p->out, "bits(%lld)", (long long)tn_lit_bits(l, i));
  else if (l->dtype == TN_F64)
    tn_text_f64(p->out, v);
  else
    tn_text_f32(p->out, (float)v);
}

static void irprint_elem(irprint *p, const tn_lit *l, int64_t i) {
  tn_str s;
  switch (tn_dtype_cls(l->dtype)) {
    case TN_CLASS_FLOAT:
      irprint_float(p, l, i);
      break;
    case TN_CLASS_STRING:
      memcpy(&s, (const char *)l->data + (size_t)i * sizeof s, sizeof s);
      tn_text_quote(p->out, s);
      break;
    default:
      tn_text_printf(p->out, "%lld", (long long)tn_lit_i64_at(l, i));
  }
}

/* A complex literal is read as twice as many floats. */
static tn_lit irprint_parts(const tn_lit *l) {
  tn_lit parts = *l;
  if (tn_dtype_cls(l->dtype) != TN_CLASS_COMPLEX) return parts;
  parts.dtype = l->dtype == TN_C64 ? TN_F32 : TN_F64;
  parts.count = 2 * l->count;
  return parts;
}

static bool irprint_is_splat(const tn_lit *l) {
  const tn_dtype_class cls = tn_dtype_cls(l->dtype);
  if (l->count <= IRPRINT_SPLAT || cls == TN_CLASS_STRING || cls == TN_CLASS_COMPLEX) return false;
  const uint64_t first = tn_lit_bits(l, 0);
  for (int64_t i = 1; i < l->count; i++)
    if (tn_lit_bits(l, i) != first) return false;
  return true;
}

static uint64_t irprint_hash(const tn_lit *l) {
  if (l->dtype != TN_STR) return tn_hash_bytes(l->data, l->bytes, 0);
  uint64_t h = 0;
  for (int64_t i = 0; i < l->count; i++) {
    tn_str s;
    memcpy(&s, (const char *)l->data + (size_t)i * sizeof s, sizeof s);
    h = tn_hash_bytes(s.ptr, s.len, h + s.len);
  }
  return h;
}

static void irprint_lit_type(irprint *p, const tn_lit *l) {
  tn_text_printf(p->out, "%s[", tn_dtype_name(l->dtype));
  for (int i = 0; i < l->rank; i++) tn_text_printf(p->out, "%s%lld", i ? "," : "", (long long)l->dims[i]);
  irprint_z(p, "]");
}

static void irprint_dense(irprint *p, const tn_lit *l) {
  irprint_z(p, "dense(");
  irprint_lit_type(p, l);
  irprint_z(p, ":");
  const tn_lit parts = irprint_parts(l);
  const bool splat = irprint_is_splat(&parts);
  if (!splat && l->count > IRPRINT_SHORT && !(p->flags & TN_PRINT_ALL)) {
    tn_text_printf(p->out, " hash \"%016llx\")", (unsigned long long)irprint_hash(l));
    return;
  }
  const int64_t n = splat ? 1 : parts.count;
  for (int64_t i = 0; i < n; i++) {
    irprint_z(p, i ? ", " : " ");
    irprint_elem(p, &parts, i);
  }
  irprint_z(p, ")");
}

static void irprint_lit(irprint *p, const tn_lit *l) {
  if (l->kind != TN_TYPE_TENSOR) {
    irprint_z(p, l->kind == TN_TYPE_SEQUENCE ? "seq(" : l->kind == TN_TYPE_MAP ? "map(" : "opt(");
    for (int64_t i = 0; i < l->n_items; i++) {
      if (i) irprint_z(p, ", ");
      irprint_lit(p, l->items[i]);
    }
    irprint_z(p, ")");
  } else if (l->file) {
    irprint_z(p, "file(");
    irprint_lit_type(p, l);
    irprint_z(p, ", ");
    tn_text_quote(p->out, tn_str_of(l->file));
    tn_text_printf(p->out, ", %lld, %llu)", (long long)l->file_offset, (unsigned long long)l->bytes);
  } else {
    irprint_dense(p, l);
  }
}

/* Attributes. */

static void irprint_attr_item(irprint *p, const tn_attr *a, int64_t i) {
  if (a->kind == TN_ATTR_INTS)
    tn_text_printf(p->out, "%lld", (long long)a->ints[i]);
  else if (a->kind == TN_ATTR_FLOATS)
    tn_text_f32(p->out, (float)a->floats[i]);
  else if (a->kind == TN_ATTR_STRS)
    tn_text_quote(p->out, a->strs[i]);
  else
    irprint_lit(p, a->tensors[i]);
}

static void irprint_attr(irprint *p, const tn_attr *a) {
  switch (a->kind) {
    case TN_ATTR_INT:
      tn_text_printf(p->out, "%lld", (long long)a->i);
      break;
    case TN_ATTR_FLOAT:
      tn_text_f32(p->out, (float)a->f);
      break;
    case TN_ATTR_STR:
      tn_text_quote(p->out, a->s);
      break;
    case TN_ATTR_DTYPE:
      irprint_z(p, tn_dtype_valid((int)a->i) ? tn_dtype_name((tn_dtype)a->i) : "?");
      break;
    case TN_ATTR_TENSOR:
      irprint_lit(p, a->tensor);
      break;
    case TN_ATTR_TYPE:
      irprint_type(p, a->type);
      break;
    case TN_ATTR_INTS:
    case TN_ATTR_FLOATS:
    case TN_ATTR_STRS:
    case TN_ATTR_TENSORS:
      irprint_z(p, "[");
      for (int64_t i = 0; i < a->n; i++) {
        if (i) irprint_z(p, ", ");
        irprint_attr_item(p, a, i);
      }
      irprint_z(p, "]");
      break;
    case TN_ATTR_NONE:
    case TN_ATTR_REGION:
    case TN_ATTR_SPARSE:
      break;
  }
}

static void irprint_attrs(irprint *p, const tn_node *node) {
  const int n = tn_op_n_attrs(node->op);
  const char *before = " {";
  for (int i = 0; i < n; i++) {
    if (node->attrs[i].kind == TN_ATTR_NONE) continue;
    irprint_z(p, before);
    irprint_name(p, node->op->attrs[i].name);
    irprint_z(p, " = ");
    irprint_attr(p, &node->attrs[i]);
    before = ", ";
  }
  if (before[0] == ',') irprint_z(p, "}");
}

/* Statements. */

static void irprint_loc(irprint *p, const tn_loc *loc) {
  if (!(p->flags & TN_PRINT_LOCATIONS) || !loc->kind || strcmp(loc->kind, "node") != 0) return;
  irprint_z(p, " at ");
  tn_text_quote(p->out, tn_str_of(loc->name ? loc->name : ""));
  if (!loc->op) return;
  irprint_z(p, " ");
  tn_text_quote(p->out, tn_str_of(loc->op));
}

static void irprint_marks(irprint *p, const tn_node *node) {
  if (!(p->flags & TN_PRINT_LOCATIONS) || !node->marks || !node->loc.kind || strcmp(node->loc.kind, "node") != 0)
    return;
  irprint_z(p, " ");
  tn_marks_print(p->out, node->marks);
}

static void irprint_content(irprint *p, const tn_type *t) {
  if (!t->content) return;
  const int64_t n = tn_type_content_count(t);
  irprint_z(p, " = [");
  for (int64_t i = 0; i < n; i++) {
    const tn_elem *e = &t->content[i];
    if (i) irprint_z(p, ", ");
    if (e->kind == TN_ELEM_SYM) {
      tn_sym_print(p->g->syms, p->out, e->sym);
    } else if (e->kind == TN_ELEM_F64) {
      irprint_z(p, "!");
      tn_text_f64(p->out, e->f);
    } else if (e->kind == TN_ELEM_RATIO) {
      irprint_z(p, "!ratio(");
      tn_sym_print(p->g->syms, p->out, e->sym);
      tn_text_printf(p->out, ", %lld)", (long long)e->den);
    } else if (e->kind == TN_ELEM_SCALED) {
      irprint_z(p, "!scaled(");
      tn_sym_print(p->g->syms, p->out, e->sym);
      irprint_z(p, ", ");
      tn_text_f64(p->out, e->f);
      irprint_z(p, ")");
    } else {
      irprint_z(p, "?");
    }
  }
  irprint_z(p, "]");
}

static void irprint_params(irprint *p, const tn_region *r) {
  irprint_z(p, "(");
  for (int i = 0; i < r->n_params; i++) {
    if (i) irprint_z(p, ", ");
    irprint_value(p, r->params[i]);
    irprint_z(p, ": ");
    irprint_type(p, &r->params[i]->type);
    irprint_content(p, &r->params[i]->type);
  }
  irprint_z(p, ")");
}

static void irprint_node(irprint *p, const tn_node *node, int depth);

static const tn_region *irprint_check_region(const tn_check *c) {
  const tn_region *r = c->region;
  while (r->merged) r = r->merged;
  return r;
}

static void irprint_group_checks(irprint *p) {
  tn_arena *a = &p->g->ctx->arena;
  p->first_check = TN_NEW_ARRAY(a, size_t, p->g->n_regions + 1);
  p->next_check = TN_NEW_ARRAY(a, size_t, p->g->checks.n + 1);
  for (size_t i = p->g->checks.n; i-- > 0;) {
    size_t *first = &p->first_check[irprint_check_region(&p->g->checks.at[i])->id];
    p->next_check[i] = *first;
    *first = i + 1;
  }
}

static void irprint_checks(irprint *p, const tn_region *r, int depth) {
  for (size_t i = p->first_check[r->id]; i; i = p->next_check[i - 1]) {
    const tn_check *c = &p->g->checks.at[i - 1];
    irprint_indent(p, depth);
    irprint_z(p, "check ");
    tn_text_quote(p->out, tn_str_of(c->text));
    irprint_z(p, ": ");
    tn_sym_print(p->g->syms, p->out, c->condition);
    irprint_loc(p, &c->loc);
    irprint_z(p, "\n");
  }
}

static void irprint_region(irprint *p, const tn_region *r, int depth) {
  irprint_z(p, " region ");
  irprint_params(p, r);
  irprint_z(p, " {\n");
  for (const tn_node *node = r->first; node; node = node->next) irprint_node(p, node, depth + 1);
  irprint_checks(p, r, depth + 1);
  irprint_indent(p, depth + 1);
  irprint_z(p, "yield (");
  irprint_values(p, r->results, r->n_results);
  irprint_z(p, ")\n");
  irprint_indent(p, depth);
  irprint_z(p, "}");
}

static void irprint_node(irprint *p, const tn_node *node, int depth) {
  irprint_indent(p, depth);
  irprint_values(p, node->out, node->n_out);
  tn_text_printf(p->out, " = %s(", node->op->name);
  irprint_values(p, node->in, node->n_in);
  irprint_z(p, ")");
  irprint_attrs(p, node);
  for (int i = 0; i < node->n_regions; i++) irprint_region(p, node->regions[i], depth);
  irprint_z(p, " : ");
  for (int i = 0; i < node->n_out; i++) {
    if (i) irprint_z(p, ", ");
    if (node->out[i])
      irprint_type(p, &node->out[i]->type);
    else
      irprint_z(p, "_");
  }
  irprint_loc(p, &node->loc);
  irprint_marks(p, node);
  irprint_z(p, "\n");
}

static void irprint_main(irprint *p) {
  const tn_region *r = p->g->main;
  irprint_z(p, "graph @");
  irprint_name(p, r->name);
  irprint_params(p, r);
  irprint_z(p, " -> (");
  for (int i = 0; i < r->n_results; i++) {
    if (i) irprint_z(p, ", ");
    irprint_value(p, r->results[i]);
    if (strcmp(r->result_names[i], r->results[i]->name) != 0) {
      irprint_z(p, " as ");
      tn_text_quote(p->out, tn_str_of(r->result_names[i]));
    }
    irprint_z(p, ": ");
    irprint_type(p, &r->results[i]->type);
  }
  irprint_z(p, ") {\n");
  for (const tn_node *node = r->first; node; node = node->next) irprint_node(p, node, 1);
  irprint_z(p, "}\n");
}

/* Symbols: which are used, and which need a line of their own. */

static void irprint_use(void *arg, uint32_t number) {
  irprint *p = arg;
  if (p->used[number]) return;
  p->used[number] = true;
  tn_vec_push(&p->g->ctx->arena, &p->todo, number);
}

static void irprint_use_sym(irprint *p, tn_sym e) {
  if (e) tn_sym_symbols(p->g->syms, e, irprint_use, p);
}

static void irprint_use_type(irprint *p, const tn_type *t, bool with_content) {
  for (; t; t = t->elem) {
    if (t->kind != TN_TYPE_TENSOR) continue;
    for (int i = 0; i < t->rank; i++) irprint_use_sym(p, t->dims[i]);
    const int64_t n = with_content ? tn_type_content_count(t) : 0;
    for (int64_t i = 0; i < n; i++)
      if (t->content[i].sym) irprint_use_sym(p, t->content[i].sym);
  }
}

static void irprint_see_params(irprint *p, const tn_region *r) {
  for (int i = 0; i < r->n_params; i++) {
    p->names[r->params[i]->id] = r->params[i]->name;
    irprint_use_type(p, &r->params[i]->type, true);
  }
}

static tn_status irprint_see(void *arg, tn_node *node) {
  irprint *p = arg;
  for (int i = 0; i < node->n_out; i++) {
    if (!node->out[i]) continue;
    p->names[node->out[i]->id] = node->out[i]->name;
    irprint_use_type(p, &node->out[i]->type, false);
  }
  const int n = tn_op_n_attrs(node->op);
  for (int i = 0; i < n; i++)
    if (node->attrs[i].kind == TN_ATTR_TYPE) irprint_use_type(p, node->attrs[i].type, false);
  for (int i = 0; i < node->n_regions; i++) irprint_see_params(p, node->regions[i]);
  return TN_OK;
}

/* A symbol without facts of its own whose first plain appearance in a parameter's shape is its source. */
static void irprint_imply(irprint *p, const tn_value *v) {
  for (int j = 0; tn_type_has_rank(&v->type) && j < v->type.rank; j++) {
    const tn_sym d = v->type.dims[j];
    if (!d || !tn_sym_is_var(d)) continue;
    const tn_symbol *s = tn_sym_symbol(p->g->syms, (uint32_t)d->k);
    if (s->source == TN_SOURCE_DIM && s->value == v->id && s->index == j && s->min == 0 && s->max == INT64_MAX &&
        s->multiple_of == 1)
      p->implied[d->k] = true;
  }
}

static void irprint_deny(void *arg, uint32_t number) {
  irprint *p = arg;
  p->implied[number] = false;
}

/* Reading numbers the symbols anew: those with a line first, then implied ones where they appear. Unless that keeps
 * their order, which decides the order of terms, all of them get a line. */
static void irprint_keep_order(irprint *p) {
  const tn_region *r = p->g->main;
  bool keeps = true;
  int64_t last = -1;
  for (uint32_t i = 0; i < p->n_symbols; i++)
    if (p->used[i] && !p->implied[i]) last = i;
  bool *seen = TN_NEW_ARRAY(&p->g->ctx->arena, bool, p->n_symbols + 1);
  for (int i = 0; i < r->n_params; i++) {
    const tn_type *t = &r->params[i]->type;
    for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++) {
      const tn_sym d = t->dims[j];
      if (!d || !tn_sym_is_var(d) || !p->implied[d->k] || seen[d->k]) continue;
      const tn_symbol *s = tn_sym_symbol(p->g->syms, (uint32_t)d->k);
      if (r->params[i]->id != s->value || j != s->index || d->k < last) keeps = false;
      seen[d->k] = true;
      last = d->k;
    }
  }
  if (!keeps) memset(p->implied, 0, p->n_symbols);
}

static void irprint_collect(irprint *p) {
  const tn_graph *g = p->g;
  irprint_see_params(p, g->main);
  if (tn_graph_walk(p->g, irprint_see, p) != TN_OK) return;
  for (size_t i = 0; i < g->checks.n; i++) irprint_use_sym(p, g->checks.at[i].condition);
  for (size_t i = 0; i < g->assumed.n; i++) irprint_use_sym(p, g->assumed.at[i]);
  while (p->todo.n) irprint_use_sym(p, tn_sym_symbol(g->syms, p->todo.at[--p->todo.n])->definition);
}

/* Symbols that would be read anywhere before their plain appearance need a line. */
static void irprint_deny_early(irprint *p) {
  const tn_graph *g = p->g;
  for (size_t i = 0; i < g->assumed.n; i++) tn_sym_symbols(g->syms, g->assumed.at[i], irprint_deny, p);
  for (uint32_t i = 0; i < p->n_symbols; i++) {
    const tn_symbol *s = tn_sym_symbol(g->syms, i);
    if (p->used[i] && s->definition) tn_sym_symbols(g->syms, s->definition, irprint_deny, p);
  }
  for (int i = 0; i < g->main->n_params; i++) {
    const tn_type *t = &g->main->params[i]->type;
    for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++)
      if (t->dims[j] && !tn_sym_is_var(t->dims[j])) tn_sym_symbols(g->syms, t->dims[j], irprint_deny, p);
    const int64_t n = tn_type_content_count(t);
    for (int64_t k = 0; k < n; k++)
      if (t->content[k].sym) tn_sym_symbols(g->syms, t->content[k].sym, irprint_deny, p);
  }
}

static void irprint_plan_symbols(irprint *p) {
  irprint_collect(p);
  for (int i = 0; i < p->g->main->n_params; i++) irprint_imply(p, p->g->main->params[i]);
  irprint_deny_early(p);
  irprint_keep_order(p);
}

static void irprint_source(irprint *p, const tn_symbol *s) {
  if (s->source == TN_SOURCE_DEFINED && s->definition) {
    irprint_z(p, " = (");
    tn_sym_print(p->g->syms, p->out, s->definition);
    irprint_z(p, ")");
    return;
  }
  if ((s->source != TN_SOURCE_DIM && s->source != TN_SOURCE_ELEM) || s->value >= p->g->n_values) return;
  if (!p->names[s->value]) return;
  irprint_z(p, s->source == TN_SOURCE_DIM ? " = dim(%" : " = elem(%");
  irprint_name(p, p->names[s->value]);
  tn_text_printf(p->out, ", %lld)", (long long)s->index);
}

static void irprint_symbol(irprint *p, uint32_t number) {
  const tn_symbol *s = tn_sym_symbol(p->g->syms, number);
  irprint_z(p, "symbol ");
  irprint_name(p, s->name);
  irprint_source(p, s);
  if (s->min != 0 || s->max != INT64_MAX) {
    tn_text_printf(p->out, " in [%lld, ", (long long)s->min);
    if (s->max == INT64_MAX)
      irprint_z(p, "inf]");
    else
      tn_text_printf(p->out, "%lld]", (long long)s->max);
  }
  if (s->multiple_of != 1) tn_text_printf(p->out, " multiple %lld", (long long)s->multiple_of);
  irprint_z(p, "\n");
}

/* A definition may speak of newer symbols (an input's dim solved for one of its symbols): their lines come first. */
static void irprint_symbol_after(void *arg, uint32_t number) {
  irprint *p = arg;
  if (p->printed[number] || !p->used[number] || p->implied[number]) return;
  p->printed[number] = true;
  const tn_symbol *s = tn_sym_symbol(p->g->syms, number);
  if (s->definition && p->nesting < IRPRINT_MAX_NESTING) {
    p->nesting++;
    tn_sym_symbols(p->g->syms, s->definition, irprint_symbol_after, p);
    p->nesting--;
  }
  irprint_symbol(p, number);
}

static void irprint_head(irprint *p) {
  irprint_z(p, "tenon 1\n");
  for (uint32_t i = 0; i < p->n_symbols; i++) irprint_symbol_after(p, i);
  for (size_t i = 0; i < p->g->assumed.n; i++) {
    if (tn_sym_is_int(p->g->assumed.at[i])) continue; /* says nothing (more) */
    irprint_z(p, "assume ");
    tn_sym_print(p->g->syms, p->out, p->g->assumed.at[i]);
    irprint_z(p, "\n");
  }
  irprint_z(p, "\n");
}

void tn_graph_print(tn_graph *g, tn_text *out, uint32_t flags) {
  tn_arena *a = &g->ctx->arena;
  const uint32_t n = tn_sym_n_symbols(g->syms);
  irprint p = {.g = g,
               .out = out,
               .flags = flags,
               .names = TN_NEW_ARRAY(a, const char *, g->n_values + 1),
               .used = TN_NEW_ARRAY(a, bool, n + 1),
               .printed = TN_NEW_ARRAY(a, bool, n + 1),
               .implied = TN_NEW_ARRAY(a, bool, n + 1),
               .n_symbols = n};
  irprint_group_checks(&p);
  irprint_plan_symbols(&p);
  irprint_head(&p);
  irprint_main(&p);
  if (p.first_check[g->main->id]) irprint_z(&p, "\n");
  irprint_checks(&p, g->main, 0);
}
