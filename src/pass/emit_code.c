/* Expressions to shape code. An expression is computed once, in the segment where the last of its symbols appears; its
 * parts may be known earlier and then are computed there. What may fail and only a nested region needs is computed when
 * that region is entered: a branch that is not taken must not refuse a shape. Arms of a select that may fail (a
 * division by zero, say) run only when chosen, so what is computed inside an arm alone is not shared with code outside
 * it. */
#include "pass/emit.h"

enum { EMIT_MAX_DEPTH = 2000 };

static tn_status emit_code_never(const tn_emit *e, tn_sym x) {
  return tn_fail(e->pass->ctx, TN_UNSUPPORTED, (tn_loc){0}, "the size %s depends on values that are not known together",
                 tn_sym_text(e->graph->syms, x));
}

static bool emit_code_divides(tn_sym x) {
  if (x->kind == TN_SYM_F32RATIO) return !tn_sym_is_int(x->args[2]) || x->args[2]->k == 0;
  const bool divides = x->kind == TN_SYM_FLOORDIV || x->kind == TN_SYM_CEILDIV || x->kind == TN_SYM_MOD;
  return divides && (!tn_sym_is_int(x->args[1]) || x->args[1]->k == 0);
}

static bool emit_code_may_fail(tn_emit *e, tn_sym x, int depth) {
  uint64_t known;
  if (x->n == 0) return x->kind == TN_SYM_OVERFLOW;
  if (tn_map_find(&e->may_fail, tn_map_key(x), &known)) return known != 0;
  bool fails = depth > EMIT_MAX_DEPTH || emit_code_divides(x);
  for (uint32_t i = 0; i < x->n && !fails; i++) fails = emit_code_may_fail(e, x->args[i], depth + 1);
  tn_map_set(e->side, &e->may_fail, tn_map_key(x), fails);
  return fails;
}

/* Is x computed at the entry of the region at hand, though its symbols are known earlier? */
static bool emit_code_stays_home(tn_emit *e, tn_sym x) {
  if (!e->home || !e->home->owner || !emit_code_may_fail(e, x, 0)) return false;
  return tn_known_on_entry(e->pass->known, tn_known_when(e->pass->known, x), e->home);
}

static tn_status emit_code_segment(tn_emit *e, tn_sym x, tn_emit_segment **out) {
  const tn_when w = tn_known_when(e->pass->known, x);
  if (!w.region) return emit_code_never(e, x);
  if (emit_code_stays_home(e, x)) {
    *out = e->segments.at[e->region_of[e->home->id]];
    return TN_OK;
  }
  int32_t index = (int32_t)e->region_of[w.region->id];
  if (w.after) {
    int32_t *of_node = &e->segment_of_node[w.after->id];
    if (*of_node < 0) {
      *of_node = (int32_t)e->segments.n;
      tn_vec_push(e->side, &e->segments, TN_NEW(e->side, tn_emit_segment));
    }
    index = *of_node;
  }
  *out = e->segments.at[index];
  return TN_OK;
}

static bool emit_code_find(const tn_emit *e, tn_sym x, uint32_t *out_slot) {
  uint64_t found = 0;
  bool has = tn_map_find(&e->slot_of, tn_map_key(x), &found) || (e->arm && tn_map_find(e->arm, tn_map_key(x), &found));
  for (const tn_region *r = e->home; !has && r && r->owner; r = r->owner->region)
    has = tn_map_find(&e->slot_in[e->region_of[r->id]], tn_map_key(x), &found);
  if (!has) return false;
  *out_slot = (uint32_t)(found - 1);
  return true;
}

static void emit_code_remember(tn_emit *e, tn_sym x, uint32_t slot) {
  tn_map *map = e->arm ? e->arm : &e->slot_of;
  if (!e->arm && emit_code_stays_home(e, x)) map = &e->slot_in[e->region_of[e->home->id]];
  tn_map_set(e->side, map, tn_map_key(x), (uint64_t)slot + 1);
}

static uint32_t emit_code_add(tn_emit *e, tn_emit_segment *s, tn_shape_opcode op, uint32_t a, uint32_t b, int64_t imm) {
  const tn_shape_ins ins = {.op = (uint8_t)op, .dst = e->n_slots++, .a = a, .b = b, .imm = imm};
  tn_vec_push(e->side, &s->code, ins);
  return ins.dst;
}

static tn_status emit_code_at(tn_emit *e, tn_sym x, int depth, uint32_t *out_slot);

static tn_shape_opcode emit_code_opcode(uint8_t kind) {
  switch ((tn_sym_kind)kind) {
    case TN_SYM_MUL:
      return TN_SHAPE_MUL;
    case TN_SYM_FLOORDIV:
      return TN_SHAPE_FLOORDIV;
    case TN_SYM_CEILDIV:
      return TN_SHAPE_CEILDIV;
    case TN_SYM_MOD:
      return TN_SHAPE_MOD;
    case TN_SYM_MIN:
      return TN_SHAPE_MIN;
    case TN_SYM_MAX:
      return TN_SHAPE_MAX;
    case TN_SYM_BCAST:
      return TN_SHAPE_BCAST;
    case TN_SYM_EQ:
      return TN_SHAPE_EQ;
    case TN_SYM_LT:
      return TN_SHAPE_LT;
    case TN_SYM_LE:
      return TN_SHAPE_LE;
    case TN_SYM_AND:
      return TN_SHAPE_AND;
    case TN_SYM_OR:
      return TN_SHAPE_OR;
    default:
      return TN_N_SHAPE_OPS;
  }
}

/* a op b op c ... */
static tn_status emit_code_chain(tn_emit *e, tn_emit_segment *s, tn_sym x, int depth, uint32_t *out_slot) {
  const tn_shape_opcode op = emit_code_opcode(x->kind);
  uint32_t slot;
  TN_TRY(emit_code_at(e, x->args[0], depth, &slot));
  for (uint32_t i = 1; i < x->n; i++) {
    uint32_t next;
    TN_TRY(emit_code_at(e, x->args[i], depth, &next));
    slot = emit_code_add(e, s, op, slot, next, 0);
  }
  *out_slot = slot;
  return TN_OK;
}

static tn_status emit_code_sum(tn_emit *e, tn_emit_segment *s, tn_sym x, int depth, uint32_t *out_slot) {
  bool have = false;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < x->n; i++) {
    uint32_t term;
    TN_TRY(emit_code_at(e, x->args[i], depth, &term));
    if (x->coefs[i] != 1) term = emit_code_add(e, s, TN_SHAPE_MULI, term, 0, x->coefs[i]);
    sum = have ? emit_code_add(e, s, TN_SHAPE_ADD, sum, term, 0) : term;
    have = true;
  }
  if (x->k != 0 || !have) {
    uint32_t k;
    TN_TRY(emit_code_at(e, tn_sym_int(e->graph->syms, x->k), depth, &k));
    sum = have ? emit_code_add(e, s, TN_SHAPE_ADD, sum, k, 0) : k;
  }
  *out_slot = sum;
  return TN_OK;
}

/* Code of one arm, behind a jump that is taken when `guard` is 0. */
static tn_status emit_code_arm(tn_emit *e, tn_emit_segment *s, uint32_t guard, tn_sym x, int depth,
                               uint32_t *out_slot) {
  if (emit_code_find(e, x, out_slot)) return TN_OK;
  tn_map inner = {0}, *outer = e->arm;
  tn_emit_segment *outer_segment = e->arm_segment;
  if (outer) { /* what the enclosing arm has computed stays visible */
    for (size_t i = 0; i < outer->n; i++) tn_map_set(e->side, &inner, outer->entries[i].key, outer->entries[i].value);
  }
  const size_t jump = s->code.n;
  const tn_shape_ins ins = {.op = TN_SHAPE_JUMPZ, .a = guard};
  tn_vec_push(e->side, &s->code, ins);
  e->arm = &inner;
  e->arm_segment = s;
  const tn_status status = emit_code_at(e, x, depth, out_slot);
  e->arm = outer;
  e->arm_segment = outer_segment;
  s->code.at[jump].imm = (int64_t)(s->code.n - jump - 1);
  return status;
}

static tn_status emit_code_select(tn_emit *e, tn_emit_segment *s, tn_sym x, int depth, uint32_t *out_slot) {
  uint32_t c, not_c, a, b;
  TN_TRY(emit_code_at(e, x->args[0], depth, &c));
  TN_TRY(emit_code_arm(e, s, c, x->args[1], depth, &a));
  not_c = emit_code_add(e, s, TN_SHAPE_NOT, c, 0, 0);
  TN_TRY(emit_code_arm(e, s, not_c, x->args[2], depth, &b));
  *out_slot = emit_code_add(e, s, TN_SHAPE_SELECT, c, a, (int64_t)b);
  return TN_OK;
}

static tn_status emit_code_new(tn_emit *e, tn_emit_segment *s, tn_sym x, int depth, uint32_t *out_slot) {
  switch ((tn_sym_kind)x->kind) {
    case TN_SYM_INT:
      *out_slot = emit_code_add(e, s, TN_SHAPE_CONST, 0, 0, x->k);
      return TN_OK;
    case TN_SYM_VAR: {
      const int64_t slot = e->slot_of_symbol[x->k];
      if (slot < 0) return emit_code_never(e, x);
      *out_slot = (uint32_t)slot;
      return TN_OK;
    }
    case TN_SYM_ADD:
      return emit_code_sum(e, s, x, depth, out_slot);
    case TN_SYM_F32SCALE: {
      uint32_t a;
      TN_TRY(emit_code_at(e, x->args[0], depth, &a));
      *out_slot = emit_code_add(e, s, TN_SHAPE_F32SCALE, a, 0, x->k);
      return TN_OK;
    }
    case TN_SYM_F32RATIO: {
      uint32_t a, n, d;
      TN_TRY(emit_code_at(e, x->args[0], depth, &a));
      TN_TRY(emit_code_at(e, x->args[1], depth, &n));
      TN_TRY(emit_code_at(e, x->args[2], depth, &d));
      *out_slot = emit_code_add(e, s, TN_SHAPE_F32RATIO, a, n, (int64_t)d);
      return TN_OK;
    }
    case TN_SYM_NOT: {
      uint32_t a;
      TN_TRY(emit_code_at(e, x->args[0], depth, &a));
      *out_slot = emit_code_add(e, s, TN_SHAPE_NOT, a, 0, 0);
      return TN_OK;
    }
    case TN_SYM_SELECT:
      return emit_code_select(e, s, x, depth, out_slot);
    case TN_SYM_OVERFLOW: { /* fails when run, as it must */
      const uint32_t most = emit_code_add(e, s, TN_SHAPE_CONST, 0, 0, INT64_MAX);
      *out_slot = emit_code_add(e, s, TN_SHAPE_MULI, most, 0, 2);
      return TN_OK;
    }
    default:
      return emit_code_chain(e, s, x, depth, out_slot);
  }
}

/* Inside an arm, parts that belong to other segments are still computed there, outside any guard, and are shared. */
static tn_status emit_code_at(tn_emit *e, tn_sym x, int depth, uint32_t *out_slot) {
  if (emit_code_find(e, x, out_slot)) return TN_OK;
  if (depth > EMIT_MAX_DEPTH) return tn_fail(e->pass->ctx, TN_LIMIT, (tn_loc){0}, "a size is nested too deeply");
  tn_emit_segment *s = NULL;
  TN_TRY(emit_code_segment(e, x, &s));
  tn_map *arm = e->arm;
  if (arm && s != e->arm_segment) e->arm = NULL;
  const tn_status status = emit_code_new(e, s, x, depth + 1, out_slot);
  if (status == TN_OK) emit_code_remember(e, x, *out_slot);
  e->arm = arm;
  return status;
}

/* Definitions first: a defined symbol is computed unguarded, like any other symbol. */
typedef TN_VEC(uint32_t) emit_code_list;
typedef struct emit_code_defined {
  tn_emit *emit;
  emit_code_list *list;
} emit_code_defined;

static void emit_code_push_defined(void *arg, uint32_t symbol) {
  emit_code_defined *d = arg;
  if (tn_sym_symbol(d->emit->graph->syms, symbol)->source != TN_SOURCE_DEFINED) return;
  if (d->emit->slot_of_symbol[symbol] < 0) tn_vec_push(d->emit->side, d->list, symbol);
}

static tn_status emit_code_definitions(tn_emit *e, tn_sym x) {
  emit_code_list todo = {0};
  emit_code_defined d = {e, &todo};
  tn_sym_symbols(e->graph->syms, x, emit_code_push_defined, &d);
  while (todo.n) {
    const uint32_t symbol = todo.at[todo.n - 1];
    const size_t before = todo.n;
    const tn_sym definition = tn_sym_symbol(e->graph->syms, symbol)->definition;
    if (e->slot_of_symbol[symbol] < 0) {
      if (!tn_known_when(e->pass->known, definition).region) return emit_code_never(e, definition); /* or a cycle */
      tn_sym_symbols(e->graph->syms, definition, emit_code_push_defined, &d);
    }
    if (todo.n > before) continue;
    todo.n--;
    uint32_t slot;
    if (e->slot_of_symbol[symbol] >= 0) continue;
    const tn_region *home = e->home;
    e->home = NULL; /* like any other symbol: where it is known */
    const tn_status status = emit_code_at(e, definition, 0, &slot);
    e->home = home;
    TN_TRY(status);
    e->slot_of_symbol[symbol] = slot;
  }
  return TN_OK;
}

tn_status tn_emit_expression(tn_emit *e, tn_sym x, uint32_t *out_slot) {
  TN_ASSERT(!e->arm);
  if (emit_code_find(e, x, out_slot)) return TN_OK;
  TN_TRY(emit_code_definitions(e, x));
  return emit_code_at(e, x, 0, out_slot);
}

/* Which symbols are read: those of sizes, contents and checks, through definitions. */
typedef struct emit_code_used {
  tn_emit *emit;
  bool *used;
  emit_code_list todo;
} emit_code_used;

static void emit_code_use(void *arg, uint32_t symbol) {
  emit_code_used *u = arg;
  if (u->used[symbol]) return;
  u->used[symbol] = true;
  tn_vec_push(u->emit->side, &u->todo, symbol);
}

static void emit_code_use_type(emit_code_used *u, const tn_value *v) {
  const tn_type *t = &v->type;
  tn_symtab *syms = u->emit->graph->syms;
  for (int j = 0; tn_type_has_rank(t) && j < t->rank; j++) tn_sym_symbols(syms, t->dims[j], emit_code_use, u);
  if (u->emit->pass->plan->part[v->id]) tn_sym_symbols(syms, u->emit->pass->plan->part[v->id], emit_code_use, u);
  const int64_t n = u->emit->pass->plan->store[v->id] == TN_STORE_SHAPE ? tn_type_content_count(t) : 0;
  for (int64_t i = 0; i < n; i++)
    if (t->content[i].sym) tn_sym_symbols(syms, t->content[i].sym, emit_code_use, u);
}

static tn_status emit_code_use_node(void *arg, tn_node *node) {
  for (int i = 0; i < node->n_out; i++)
    if (node->out[i]) emit_code_use_type(arg, node->out[i]);
  for (int i = 0; i < node->n_regions; i++)
    for (int j = 0; j < node->regions[i]->n_params; j++) emit_code_use_type(arg, node->regions[i]->params[j]);
  return TN_OK;
}

static tn_status emit_code_find_used(emit_code_used *u) {
  tn_graph *g = u->emit->graph;
  for (int i = 0; i < g->main->n_params; i++) emit_code_use_type(u, g->main->params[i]);
  for (size_t i = 0; i < g->checks.n; i++) tn_sym_symbols(g->syms, g->checks.at[i].condition, emit_code_use, u);
  for (size_t i = 0; i < g->assumed.n; i++) tn_sym_symbols(g->syms, g->assumed.at[i], emit_code_use, u);
  TN_TRY(tn_graph_walk(g, emit_code_use_node, u));
  while (u->todo.n) {
    const tn_symbol *s = tn_sym_symbol(g->syms, u->todo.at[--u->todo.n]);
    if (s->source == TN_SOURCE_DEFINED) tn_sym_symbols(g->syms, s->definition, emit_code_use, u);
  }
  return TN_OK;
}

static tn_status emit_code_bind(tn_emit *e, const tn_symbol *s, uint32_t slot) {
  tn_emit_segment *segment = NULL;
  TN_TRY(emit_code_segment(e, s->var, &segment));
  const tn_pbind bind = {.slot = slot,
                         .value = (uint32_t)e->value_of[s->value],
                         .index = s->index,
                         .is_elem = s->source == TN_SOURCE_ELEM};
  tn_vec_push(e->side, &segment->binds, bind);
  return TN_OK;
}

static bool emit_code_is_bound(const tn_symbol *s) { return s->source == TN_SOURCE_DIM || s->source == TN_SOURCE_ELEM; }

tn_status tn_emit_symbols(tn_emit *e) {
  const uint32_t n = tn_sym_n_symbols(e->graph->syms);
  emit_code_used u = {.emit = e, .used = TN_NEW_ARRAY(e->side, bool, n + 1)};
  e->slot_of_symbol = TN_NEW_ARRAY(e->side, int64_t, n + 1);
  TN_TRY(emit_code_find_used(&u));
  for (uint32_t i = 0; i < n; i++) {
    const tn_symbol *s = tn_sym_symbol(e->graph->syms, i);
    e->slot_of_symbol[i] = -1;
    if (!u.used[i] || s->source == TN_SOURCE_DEFINED) continue;
    if (emit_code_is_bound(s) && !tn_known_value(e->pass->known, s->value)) continue; /* its node is gone */
    e->slot_of_symbol[i] = e->n_slots++;
    tn_vec_push(e->side, &e->symbols, i);
  }
  for (size_t i = 0; i < e->symbols.n; i++) {
    const tn_symbol *s = tn_sym_symbol(e->graph->syms, e->symbols.at[i]);
    if (emit_code_is_bound(s)) TN_TRY(emit_code_bind(e, s, (uint32_t)i));
  }
  return TN_OK;
}

/* In the segment that knows the condition, or in that of the region when that is entered later. */
static tn_status emit_code_check(tn_emit *e, const tn_region *region, tn_sym condition, const char *text) {
  tn_emit_segment *s = NULL;
  uint32_t slot = 0;
  if (tn_sym_is_int(condition) && condition->k != 0) return TN_OK;
  e->home = region;
  TN_TRY(tn_emit_expression(e, condition, &slot));
  TN_TRY(emit_code_segment(e, condition, &s));
  if (tn_known_on_entry(e->pass->known, tn_known_when(e->pass->known, condition), region))
    s = e->segments.at[e->region_of[region->id]];
  tn_vec_push(e->side, &s->checks, (tn_pcheck){slot, text});
  return TN_OK;
}

static const char *emit_code_where(const tn_emit *e, tn_loc loc) {
  if (!loc.kind) return "";
  const char *name = loc.name && loc.name[0] ? tn_arena_printf(e->arena, "%s '%s'", loc.kind, loc.name)
                                             : tn_arena_printf(e->arena, "%s #%d", loc.kind, loc.index);
  return loc.op ? tn_arena_printf(e->arena, "%s (%s): ", name, loc.op) : tn_arena_printf(e->arena, "%s: ", name);
}

/* A check whose symbols never meet guards nothing that runs: its node was removed with the source of its symbols. */
tn_status tn_emit_checks(tn_emit *e) {
  tn_symtab *syms = e->graph->syms;
  for (size_t i = 0; i < e->graph->checks.n; i++) {
    const tn_check *c = &e->graph->checks.at[i];
    const tn_region *region = c->region;
    while (region->merged) region = region->merged;
    const bool is_live = e->regions[e->region_of[region->id]] == region;
    if (!is_live || !tn_known_when(e->pass->known, c->condition).region) continue;
    const char *text = tn_arena_printf(e->arena, "%s%s", emit_code_where(e, c->loc), c->text);
    TN_TRY(emit_code_check(e, region, c->condition, text));
  }
  for (size_t i = 0; i < e->graph->assumed.n; i++) {
    const tn_sym c = e->graph->assumed.at[i];
    if (!tn_known_when(e->pass->known, c).region) continue;
    TN_TRY(emit_code_check(e, e->graph->main, c,
                           tn_arena_printf(e->arena, "the assumption %s does not hold", tn_sym_text(syms, c))));
  }
  return TN_OK;
}

const char *tn_emit_label(tn_emit *e, const tn_node *node) {
  tn_loc loc = node->loc;
  if (!loc.kind) loc.kind = "node";
  if (!loc.name || !loc.name[0]) {
    const tn_value *first = node->n_out > 0 ? node->out[0] : NULL;
    if (first) loc.name = first->name;
  }
  if (!loc.op) loc.op = node->op->name;
  const char *where = emit_code_where(e, loc);
  return tn_arena_printf(e->arena, "%.*s", (int)(strlen(where) - 2), where);
}
