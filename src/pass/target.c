/* Tables of engines: reading them, and what they say of a node. */
#include "pass/target.h"

#include "ir/op.h"

const tn_split_cost tn_split_default_cost = {
    .node = 300, .kib = 100, .part = 1000, .value = 100, .flops = 20, .bytes = 10};

enum { TARGET_MAX_ENGINES = 64, TARGET_MAX_COMPOSITES = 64 };

typedef struct target_reader {
  tn_ctx *ctx;
  tn_scan s;
  tn_target *t;
} target_reader;

/* --- reading --- */

static tn_status target_name(target_reader *r, const char *what, const char **out) {
  if (r->s.tok.kind != TN_TOK_NAME && r->s.tok.kind != TN_TOK_STRING) return tn_scan_fail(&r->s, what);
  *out = tn_ctx_name(r->ctx, r->s.tok.text);
  tn_scan_next(&r->s);
  return TN_OK;
}

#define target_fail(r, ...) \
  tn_fail((r)->ctx, TN_INVALID, (tn_loc){.kind = "line", .index = (r)->s.tok.line}, __VA_ARGS__)

static tn_status target_count(target_reader *r, int64_t *out) {
  TN_TRY(tn_scan_need_int(&r->s, out));
  return *out >= 0 && *out <= INT32_MAX ? TN_OK : target_fail(r, "a number is not between 0 and 2147483647");
}

/* weights node 300 kib 100 part 1000 value 100 flops 20 bytes 10 */
static tn_status target_weights(target_reader *r, tn_split_cost *c) {
  struct {
    const char *name;
    int64_t *to;
  } rows[] = {{"node", &c->node},   {"kib", &c->kib},     {"part", &c->part},
              {"value", &c->value}, {"flops", &c->flops}, {"bytes", &c->bytes}};
  for (size_t n = 0;; n++) {
    size_t i = 0;
    while (i < TN_COUNT(rows) && !tn_scan_take(&r->s, rows[i].name)) i++;
    if (i == TN_COUNT(rows)) return n ? TN_OK : tn_scan_fail(&r->s, "node, kib, part, value, flops or bytes");
    TN_TRY(target_count(r, rows[i].to));
    if (*rows[i].to == 0 && i > 3) return target_fail(r, "%s must be above 0", rows[i].name);
  }
}

static tn_status target_dtypes(target_reader *r, uint64_t *out) {
  do {
    const tn_dtype d = r->s.tok.kind == TN_TOK_NAME ? tn_dtype_find(r->s.tok.text) : TN_DTYPE_NONE;
    if (!d) return tn_scan_fail(&r->s, "an element type (f32, i64, ...)");
    *out |= UINT64_C(1) << d;
    tn_scan_next(&r->s);
  } while (tn_scan_take(&r->s, ","));
  return tn_scan_need(&r->s, ")");
}

static tn_status target_ranks(target_reader *r, tn_target_rule *rule) {
  int64_t min, max;
  TN_TRY(target_count(r, &min));
  max = min;
  if (tn_scan_take(&r->s, "to")) TN_TRY(target_count(r, &max));
  if (max > TN_MAX_RANK || min > max) return target_fail(r, "not a range of ranks");
  rule->min_rank = (int)min;
  rule->max_rank = (int)max;
  return TN_OK;
}

static tn_status target_limit(target_reader *r, tn_target_cond *cond) {
  const bool is_negative = tn_scan_take(&r->s, "-");
  if (r->s.tok.kind == TN_TOK_INT)
    cond->number = (double)r->s.tok.i;
  else if (r->s.tok.kind == TN_TOK_FLOAT)
    cond->number = r->s.tok.f;
  else if (r->s.tok.kind == TN_TOK_STRING && !is_negative)
    cond->text = tn_ctx_name(r->ctx, r->s.tok.text);
  else
    return tn_scan_fail(&r->s, "a number or a string");
  if (is_negative) cond->number = -cond->number;
  tn_scan_next(&r->s);
  return TN_OK;
}

static tn_status target_cond(target_reader *r, tn_target_rule *rule) {
  static const char *const compares[] = {"==", "!=", "<=", ">=", "<", ">"};
  tn_target_cond cond = {0};
  TN_TRY(target_name(r, "an attribute's name", &cond.attr));
  for (size_t i = 0; i < TN_COUNT(compares) && !cond.compare; i++)
    if (tn_scan_take(&r->s, compares[i])) cond.compare = compares[i];
  if (!cond.compare) return tn_scan_fail(&r->s, "==, !=, <, <=, > or >=");
  TN_TRY(target_limit(r, &cond));
  if (cond.text && cond.compare[0] != '=' && cond.compare[0] != '!')
    return target_fail(r, "strings are compared with == or != only");
  tn_vec_push(&r->ctx->arena, &rule->conds, cond);
  return TN_OK;
}

static void target_add(target_reader *r, tn_target_ops *ops, const char *name, const tn_target_rule *rule) {
  tn_target_row *row = TN_NEW(&r->ctx->arena, tn_target_row);
  row->rule = rule;
  row->last = row;
  tn_target_row *first = name ? tn_map_find_ptr(&ops->rows, name) : ops->any_row;
  if (first)
    first->last = first->last->next = row;
  else if (name)
    tn_map_set_ptr(&r->ctx->arena, &ops->rows, name, row);
  else
    ops->any_row = row;
}

/* Conv, Gemm (f32, f16) rank 3 to 5 where group == 1, kernel_shape <= 7 */
static tn_status target_op(target_reader *r, tn_target_ops *ops) {
  tn_target_rule *rule = TN_NEW(&r->ctx->arena, tn_target_rule);
  rule->max_rank = TN_MAX_RANK;
  do {
    const char *name = NULL;
    if (!tn_scan_take(&r->s, "*")) TN_TRY(target_name(r, "an operator's name or '*'", &name));
    target_add(r, ops, name, rule);
  } while (tn_scan_take(&r->s, ","));
  if (tn_scan_take(&r->s, "(")) TN_TRY(target_dtypes(r, &rule->dtypes));
  if (tn_scan_take(&r->s, "rank")) TN_TRY(target_ranks(r, rule));
  if (!tn_scan_take(&r->s, "where")) return TN_OK;
  do TN_TRY(target_cond(r, rule));
  while (tn_scan_take(&r->s, ","));
  return TN_OK;
}

/* composite "Conv+Relu" { Conv (f32) where group == 1 -> Relu, Clip } */
static tn_status target_composite(target_reader *r, tn_target_engine *e) {
  tn_target_composite c = {0};
  TN_TRY(target_name(r, "the composite's name", &c.name));
  for (size_t i = 0; i < e->composites.n; i++)
    if (e->composites.at[i].name == c.name) return target_fail(r, "composite '%s' is there twice", c.name);
  if (e->composites.n >= TARGET_MAX_COMPOSITES) return target_fail(r, "more than %d composites", TARGET_MAX_COMPOSITES);
  TN_TRY(tn_scan_need(&r->s, "{"));
  do {
    tn_target_ops step = {0};
    TN_TRY(target_op(r, &step));
    if (c.steps.n >= TN_TARGET_MAX_STEPS) return target_fail(r, "more than %d operators in a row", TN_TARGET_MAX_STEPS);
    tn_vec_push(&r->ctx->arena, &c.steps, step);
  } while (tn_scan_take(&r->s, "->"));
  if (c.steps.n < 2) return tn_scan_fail(&r->s, "'->' and a second operator");
  tn_vec_push(&r->ctx->arena, &e->composites, c);
  return tn_scan_need(&r->s, "}");
}

static tn_status target_item(target_reader *r, tn_target_engine *e) {
  if (tn_scan_take(&r->s, "op")) return target_op(r, &e->ops);
  if (tn_scan_take(&r->s, "composite")) return target_composite(r, e);
  if (tn_scan_take(&r->s, "weights")) return target_weights(r, &e->cost);
  if (tn_scan_take(&r->s, "order")) return target_count(r, &e->order);
  if (tn_scan_take(&r->s, "host")) {
    e->is_host = true;
    return TN_OK;
  }
  if (!tn_scan_take(&r->s, "static_shapes"))
    return tn_scan_fail(&r->s, "op, composite, weights, order, host or static_shapes");
  e->is_static = true;
  return TN_OK;
}

static tn_target_engine target_new_engine(const char *name) {
  return (tn_target_engine){.name = name, .order = 1, .cost = tn_split_default_cost};
}

static tn_status target_engine(target_reader *r) {
  const char *name = NULL;
  TN_TRY(target_name(r, "the engine's name", &name));
  if (tn_target_find(r->t, name)) return target_fail(r, "engine '%s' is there twice", name);
  if (strcmp(name, "tenon") == 0) return target_fail(r, "engine '%s' is always there", name);
  if (r->t->engines.n >= TARGET_MAX_ENGINES) return target_fail(r, "more than 64 engines");
  tn_target_engine e = target_new_engine(name);
  TN_TRY(tn_scan_need(&r->s, "{"));
  while (!tn_scan_take(&r->s, "}")) TN_TRY(target_item(r, &e));
  size_t at = r->t->engines.n;
  tn_vec_push(&r->ctx->arena, &r->t->engines, e);
  for (; at > 0 && r->t->engines.at[at - 1].order > e.order; at--) r->t->engines.at[at] = r->t->engines.at[at - 1];
  r->t->engines.at[at] = e;
  return TN_OK;
}

static void target_add_tenon(tn_ctx *ctx, tn_target *t) {
  tn_target_engine e = target_new_engine(tn_ctx_namez(ctx, "tenon"));
  e.order = INT64_MAX;
  e.ops.any_row = TN_NEW(&ctx->arena, tn_target_row);
  tn_target_rule *rule = TN_NEW(&ctx->arena, tn_target_rule);
  rule->max_rank = -1; /* any, known or not */
  e.ops.any_row->rule = rule;
  tn_vec_push(&ctx->arena, &t->engines, e);
}

tn_target *tn_target_new(tn_ctx *ctx) {
  tn_target *t = TN_NEW(&ctx->arena, tn_target);
  target_add_tenon(ctx, t);
  return t;
}

tn_status tn_target_parse(tn_ctx *ctx, const char *file, tn_str text, tn_target **out) {
  const char *model = ctx->file;
  target_reader r = {.ctx = ctx, .t = TN_NEW(&ctx->arena, tn_target)};
  tn_status status = TN_OK;
  ctx->file = file;
  tn_scan_init(&r.s, ctx, text);
  while (status == TN_OK && r.s.tok.kind != TN_TOK_END)
    status = tn_scan_take(&r.s, "engine") ? target_engine(&r) : tn_scan_fail(&r.s, "engine");
  ctx->file = model;
  TN_TRY(status);
  target_add_tenon(ctx, r.t);
  *out = r.t;
  return TN_OK;
}

tn_target_engine *tn_target_find(const tn_target *t, const char *name) {
  for (size_t i = 0; i < t->engines.n; i++)
    if (strcmp(t->engines.at[i].name, name) == 0) return &t->engines.at[i];
  return NULL;
}

bool tn_target_is_last(const tn_target *t, const tn_target_engine *e) { return e == &t->engines.at[t->engines.n - 1]; }

/* --- asking --- */

static bool target_compare(const char *compare, double a, double b) {
  const bool or_equal = compare[1] == '=';
  if (compare[0] == '=') return a == b;
  if (compare[0] == '!') return a != b;
  if (compare[0] == '<') return or_equal ? a <= b : a < b;
  return or_equal ? a >= b : a > b;
}

static bool target_holds(const tn_target_cond *c, const tn_attr *a) {
  if (!a || a->kind == TN_ATTR_NONE) return false;
  if (c->text) return a->kind == TN_ATTR_STR && tn_str_is(a->s, c->text) == (c->compare[0] == '=');
  if (a->kind == TN_ATTR_INT) return target_compare(c->compare, (double)a->i, c->number);
  if (a->kind == TN_ATTR_FLOAT) return target_compare(c->compare, a->f, c->number);
  if (a->kind != TN_ATTR_INTS && a->kind != TN_ATTR_FLOATS) return false;
  for (int64_t i = 0; i < a->n; i++)
    if (!target_compare(c->compare, a->kind == TN_ATTR_INTS ? (double)a->ints[i] : a->floats[i], c->number))
      return false;
  return true;
}

static const char *target_say_cond(tn_ctx *ctx, const tn_target_cond *c) {
  if (c->text) return tn_arena_printf(&ctx->arena, "%s is not %s \"%s\"", c->attr, c->compare, c->text);
  return tn_arena_printf(&ctx->arena, "%s is not %s %g", c->attr, c->compare, c->number);
}

static const char *target_dtype_reason(tn_ctx *ctx, const tn_target_rule *rule, const tn_value *v) {
  if (!rule->dtypes || !v) return NULL;
  if (v->type.kind != TN_TYPE_TENSOR) return tn_arena_printf(&ctx->arena, "'%s' is no tensor", v->name);
  if (rule->dtypes >> v->type.dtype & 1) return NULL;
  return tn_arena_printf(&ctx->arena, "%s of '%s' is no type it takes", tn_dtype_name(v->type.dtype), v->name);
}

static const char *target_rule_reason(tn_ctx *ctx, const tn_target_rule *rule, const tn_node *node) {
  const tn_value *in = node->n_in > 0 ? node->in[0] : NULL, *out = node->n_out > 0 ? node->out[0] : NULL;
  const tn_value *v = in ? in : out;
  const char *why = target_dtype_reason(ctx, rule, in);
  if (!why) why = target_dtype_reason(ctx, rule, out);
  if (why || rule->max_rank < 0) return why;
  if (v && v->type.kind != TN_TYPE_TENSOR) return tn_arena_printf(&ctx->arena, "'%s' is no tensor", v->name);
  if (v && v->type.rank < 0) return tn_arena_printf(&ctx->arena, "the rank of '%s' is not known", v->name);
  if (v && (v->type.rank < rule->min_rank || v->type.rank > rule->max_rank))
    return tn_arena_printf(&ctx->arena, "rank %d of '%s' is not %d to %d", v->type.rank, v->name, rule->min_rank,
                           rule->max_rank);
  for (size_t i = 0; i < rule->conds.n; i++) {
    if (target_holds(&rule->conds.at[i], tn_op_attr(node, rule->conds.at[i].attr))) continue;
    return target_say_cond(ctx, &rule->conds.at[i]);
  }
  return NULL;
}

/* The reason of the last row is the one that is told. */
static bool target_rows_take(tn_ctx *ctx, const tn_target_row *row, const tn_node *node, const char **why) {
  for (; row; row = row->next) {
    *why = target_rule_reason(ctx, row->rule, node);
    if (!*why) return true;
  }
  return false;
}

static const tn_target_row *target_find_row(tn_ctx *ctx, const tn_target_ops *ops, const char *name) {
  const char *interned = name && ops->rows.n ? tn_intern_find(&ctx->names, tn_str_of(name)) : NULL;
  return interned ? tn_map_find_ptr(&ops->rows, interned) : NULL;
}

const char *tn_target_refuse(tn_ctx *ctx, const tn_target_engine *e, const tn_node *node) {
  return e->is_excluded ? "is excluded" : tn_target_refuse_step(ctx, &e->ops, node);
}

const char *tn_target_refuse_step(tn_ctx *ctx, const tn_target_ops *ops, const tn_node *node) {
  const char *why = NULL;
  if (target_rows_take(ctx, target_find_row(ctx, ops, node->loc.op), node, &why)) return NULL;
  if (target_rows_take(ctx, target_find_row(ctx, ops, node->op->name), node, &why)) return NULL;
  if (target_rows_take(ctx, ops->any_row, node, &why)) return NULL;
  if (why) return why;
  return tn_arena_printf(&ctx->arena, "does not have %s", node->loc.op ? node->loc.op : node->op->name);
}
