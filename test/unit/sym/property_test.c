/* Random expressions against an oracle in 128-bit arithmetic: values, bounds, divisors, proofs, text, substitution, and
 * the same pointer for the same expression built in another order. TN_DRAWS in the environment sets how many. */
#include <stdlib.h>

#include "base/rng.h"
#include "sym_testing.h"

__extension__ typedef __int128 big;

enum { MAX_NODES = 64, N_SYMBOLS = 6, N_BINDINGS = 6 };

typedef enum kind {
  K_INT,
  K_VAR,
  K_ADD,
  K_SUB,
  K_MUL,
  K_DIV,
  K_CEIL,
  K_MOD,
  K_MIN,
  K_MAX,
  K_BCAST,
  K_NEG,
  K_EQ,
  K_NE,
  K_LT,
  K_LE,
  K_AND,
  K_OR,
  K_NOT,
  K_SELECT,
  K_SCALE
} kind;

typedef struct draw_node {
  kind k;
  int64_t v;
  int a, b, c;
  bool swap; /* for the other spelling */
} draw_node;

typedef struct draw {
  uint64_t seed, i;
  draw_node at[MAX_NODES];
  int n;
  int64_t env[N_SYMBOLS];
} draw;

typedef struct result {
  bool ok; /* defined, and far from the limits */
  big v;
} result;

static const char *const names[N_SYMBOLS] = {"x", "y", "z", "w", "\"dim 0\"", "min_1"};
static const char *const facts[] = {"y >= 1", "y <= 64", "z % 8 == 0", "z <= 800"};
static const float scales[] = {0.5F, 1.0F, 2.0F, 0.1F, 1.7F, 0.333333F};

static uint64_t draw_u(draw *d, uint64_t n) { return tn_rng_u64(d->seed, d->i++) % n; }

static int64_t draw_const(draw *d) {
  static const int64_t often[] = {0, 1, 2, 3, 4, 8, -1, 2, 7};
  return draw_u(d, 3) ? often[draw_u(d, TN_COUNT(often))] : (int64_t)draw_u(d, 41) - 20;
}

static int draw_tree(draw *d, int depth);

static kind draw_kind(draw *d) {
  static const kind common[] = {K_ADD, K_ADD, K_ADD, K_SUB, K_MUL, K_DIV, K_DIV, K_MOD, K_MIN, K_MAX, K_NEG};
  static const kind rare[] = {K_CEIL, K_BCAST, K_EQ, K_NE, K_LT, K_LE, K_AND, K_OR, K_NOT, K_SELECT, K_SCALE};
  return draw_u(d, 4) ? common[draw_u(d, TN_COUNT(common))] : rare[draw_u(d, TN_COUNT(rare))];
}

static int draw_push(draw *d, draw_node node) {
  d->at[d->n] = node;
  return d->n++;
}

static int draw_tree(draw *d, int depth) {
  if (depth == 0 || d->n > MAX_NODES - 16 || draw_u(d, 8) == 0) {
    const bool is_const = draw_u(d, 3) == 0;
    return draw_push(
        d, (draw_node){.k = is_const ? K_INT : K_VAR, .v = is_const ? draw_const(d) : (int64_t)draw_u(d, N_SYMBOLS)});
  }
  draw_node node = {.k = draw_kind(d), .swap = draw_u(d, 2) == 0};
  node.a = draw_tree(d, depth - 1);
  if (node.k == K_SCALE) node.v = (int64_t)draw_u(d, TN_COUNT(scales));
  if (node.k != K_NEG && node.k != K_NOT && node.k != K_SCALE) {
    const bool by_const = (node.k == K_DIV || node.k == K_MOD || node.k == K_CEIL) && draw_u(d, 4);
    node.b = by_const ? draw_push(d, (draw_node){.k = K_INT, .v = draw_const(d)}) : draw_tree(d, depth - 1);
  }
  if (node.k == K_SELECT) node.c = draw_tree(d, depth - 1);
  return draw_push(d, node);
}

static result defined(big v) {
  const big limit = (big)1 << 60;
  return (result){v < limit && v > -limit, v};
}

static big big_floor(big a, big b) {
  const big q = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}

static result oracle(const draw *d, int at);

static result oracle_logic(const draw *d, const draw_node *n) {
  const result a = oracle(d, n->a), b = oracle(d, n->b);
  const bool absorbing = n->k == K_OR;
  if ((a.ok && (a.v != 0) == absorbing) || (b.ok && (b.v != 0) == absorbing)) return (result){true, absorbing};
  return (result){a.ok && b.ok, !absorbing};
}

static result oracle_two(const draw_node *n, big a, big b) {
  switch (n->k) {
    case K_ADD:
      return defined(a + b);
    case K_SUB:
      return defined(a - b);
    case K_MUL:
      return defined(a * b);
    case K_DIV:
      return b == 0 ? (result){0} : defined(big_floor(a, b));
    case K_CEIL:
      return b == 0 ? (result){0} : defined(-big_floor(-a, b));
    case K_MOD:
      return b == 0 ? (result){0} : defined(a - b * big_floor(a, b));
    case K_MIN:
      return defined(a < b ? a : b);
    case K_MAX:
      return defined(a > b ? a : b);
    case K_BCAST:
      return a != b && a != 1 && b != 1 ? (result){0} : defined(a == 1 ? b : a);
    case K_EQ:
      return defined(a == b);
    case K_NE:
      return defined(a != b);
    case K_LT:
      return defined(a < b);
    default:
      return defined(a <= b);
  }
}

static result oracle(const draw *d, int at) {
  const draw_node *const n = &d->at[at];
  if (n->k == K_INT) return defined(n->v);
  if (n->k == K_VAR) return defined(d->env[n->v]);
  if (n->k == K_AND || n->k == K_OR) return oracle_logic(d, n);
  const result a = oracle(d, n->a);
  if (!a.ok) return a;
  if (n->k == K_NEG) return defined(-a.v);
  if (n->k == K_NOT) return defined(a.v == 0);
  if (n->k == K_SELECT) return oracle(d, a.v != 0 ? n->b : n->c);
  if (n->k == K_SCALE) return defined((int64_t)floorf((float)(int64_t)a.v * scales[n->v]));
  const result b = oracle(d, n->b);
  return b.ok ? oracle_two(n, a.v, b.v) : b;
}

static tn_sym build(tn_symtab *t, const draw *d, int at) {
  const draw_node *const n = &d->at[at];
  if (n->k == K_INT) return tn_sym_int(t, n->v);
  if (n->k == K_VAR) return tn_sym_symbol(t, (uint32_t)n->v)->var;
  const tn_sym a = build(t, d, n->a);
  switch (n->k) {
    case K_NEG:
      return tn_sym_neg(t, a);
    case K_NOT:
      return tn_sym_not(t, a);
    case K_SCALE:
      return tn_sym_f32scale(t, a, scales[n->v]);
    case K_SELECT:
      return tn_sym_select(t, a, build(t, d, n->b), build(t, d, n->c));
    default:
      break;
  }
  static tn_sym (*const two[])(tn_symtab *, tn_sym, tn_sym) = {
      [K_ADD] = tn_sym_add,     [K_SUB] = tn_sym_sub,      [K_MUL] = tn_sym_mul, [K_DIV] = tn_sym_floordiv,
      [K_MOD] = tn_sym_mod,     [K_CEIL] = tn_sym_ceildiv, [K_MIN] = tn_sym_min, [K_MAX] = tn_sym_max,
      [K_BCAST] = tn_sym_bcast, [K_EQ] = tn_sym_eq,        [K_NE] = tn_sym_ne,   [K_LT] = tn_sym_lt,
      [K_LE] = tn_sym_le,       [K_AND] = tn_sym_and,      [K_OR] = tn_sym_or};
  return two[n->k](t, a, build(t, d, n->b));
}

/* The same expression with commuting operands swapped here and there, a - b as -b + a, a > b for b < a. */
static void spell(tn_text *out, const draw *d, int at) {
  static const char *const op[] = {
      [K_ADD] = "+", [K_MUL] = "*", [K_SUB] = "-", [K_DIV] = "//",  [K_MOD] = "%", [K_EQ] = "==",
      [K_NE] = "!=", [K_LT] = "<",  [K_LE] = "<=", [K_AND] = "and", [K_OR] = "or"};
  static const char *const call[] = {[K_MIN] = "min",      [K_MAX] = "max",       [K_BCAST] = "bcast",
                                     [K_CEIL] = "ceildiv", [K_SELECT] = "select", [K_SCALE] = "f32scale"};
  const draw_node *const n = &d->at[at];
  const bool commutes = n->k != K_DIV && n->k != K_MOD && n->k != K_CEIL && n->k != K_SELECT && n->k != K_SCALE;
  const bool swap = n->swap && commutes;
  if (n->k == K_INT) {
    tn_text_printf(out, "%" PRId64, n->v);
  } else if (n->k == K_VAR) {
    tn_text_addz(out, names[n->v]);
  } else if (n->k == K_NEG || n->k == K_NOT) {
    tn_text_addz(out, n->k == K_NEG ? "(-" : "(not ");
    spell(out, d, n->a);
    tn_text_addz(out, ")");
  } else if (n->k < (kind)TN_COUNT(op) && op[n->k]) {
    const char *sign = op[n->k];
    if (swap && n->k == K_LT) sign = ">";
    if (swap && n->k == K_LE) sign = ">=";
    if (swap && n->k == K_SUB) sign = "+";
    tn_text_addz(out, swap && n->k == K_SUB ? "(-" : "(");
    spell(out, d, swap ? n->b : n->a);
    tn_text_printf(out, " %s ", sign);
    spell(out, d, swap ? n->a : n->b);
    tn_text_addz(out, ")");
  } else {
    tn_text_printf(out, "%s(", call[n->k]);
    spell(out, d, swap ? n->b : n->a);
    tn_text_addz(out, ", ");
    if (n->k == K_SCALE) {
      tn_text_f32(out, scales[n->v]);
    } else {
      spell(out, d, swap ? n->a : n->b);
    }
    if (n->k == K_SELECT) tn_text_addz(out, ", ");
    if (n->k == K_SELECT) spell(out, d, n->c);
    tn_text_addz(out, ")");
  }
}

static bool bind(void *arg, uint32_t symbol, int64_t *out) {
  const draw *const d = arg;
  if (symbol >= N_SYMBOLS) return false;
  *out = d->env[symbol];
  return true;
}

static void draw_env(draw *d) {
  for (int i = 0; i < N_SYMBOLS; i++) d->env[i] = (int64_t)draw_u(d, draw_u(d, 4) ? 12 : 3000);
  d->env[1] = 1 + (int64_t)draw_u(d, 64);
  d->env[2] = 8 * (int64_t)draw_u(d, 101);
  d->env[5] = (int64_t)draw_u(d, 13) - 5;
}

static bool report(sym_bench *b, const draw *d, int root, tn_sym e, const char *what) {
  tn_text text;
  tn_text_init(&text, &b->ctx.arena);
  spell(&text, d, root);
  printf("  seed %" PRIu64 ": %s\n    text %s\n    node %s\n    x=%" PRId64 " y=%" PRId64 " z=%" PRId64 " w=%" PRId64
         " d=%" PRId64 " m=%" PRId64 "\n",
         d->seed, what, tn_text_z(&text), tn_sym_text(b->t, e), d->env[0], d->env[1], d->env[2], d->env[3], d->env[4],
         d->env[5]);
  return CHECK(false);
}

typedef struct partial {
  sym_bench *b;
  const draw *d;
  uint32_t mask;
} partial;

static tn_sym bind_some(void *arg, uint32_t symbol) {
  const partial *const p = arg;
  return p->mask >> symbol & 1 ? tn_sym_int(p->b->t, p->d->env[symbol]) : NULL;
}

static bool check_value(sym_bench *b, draw *d, int root, tn_sym e) {
  const result want = oracle(d, root);
  const tn_interval in = tn_sym_bounds(b->t, e);
  const int64_t divisor = tn_sym_divisor(b->t, e);
  const tn_truth truth = tn_sym_prove(b->t, e);
  partial some = {b, d, (uint32_t)draw_u(d, 1u << N_SYMBOLS)};
  int64_t got = 0;
  if (!want.ok) return true;
  const int64_t v = (int64_t)want.v;
  if (tn_sym_eval(b->t, e, bind, d, &got) != TN_OK) return report(b, d, root, e, "does not evaluate");
  if (got != v) return report(b, d, root, e, "wrong value");
  if (v < in.lo || v > in.hi) return report(b, d, root, e, "out of bounds");
  if (divisor == 0 ? v != 0 : v % divisor != 0) return report(b, d, root, e, "not a multiple");
  if (truth != TN_UNKNOWN && (truth == TN_TRUE) != (v != 0)) return report(b, d, root, e, "wrong proof");
  const tn_sym s = tn_sym_substitute(b->t, e, bind_some, &some);
  if (tn_sym_eval(b->t, s, bind, d, &got) != TN_OK || got != v)
    return report(b, d, root, s, "wrong after substitution");
  return true;
}

static bool check_draw(sym_bench *b, uint64_t seed) {
  static draw d;
  tn_text text;
  tn_sym other;
  d = (draw){.seed = seed};
  const int root = draw_tree(&d, 2 + (int)draw_u(&d, 4));
  const tn_sym e = build(b->t, &d, root);
  draw_env(&d);
  tn_text_init(&text, &b->ctx.arena);
  spell(&text, &d, root);
  if (!tn_sym_try_parse(b->t, (tn_str){tn_text_z(&text), text.len}, &other)) return report(b, &d, root, e, "no parse");
  if (other != e) {
    printf("    other %s\n", tn_sym_text(b->t, other));
    return report(b, &d, root, e, "another order, another node");
  }
  const tn_str printed = tn_str_of(tn_sym_text(b->t, e));
  if (!tn_sym_try_parse(b->t, printed, &other) || other != e) {
    printf("    back %s\n", tn_sym_text(b->t, other));
    return report(b, &d, root, e, "does not read back");
  }
  for (int i = 0; i < N_BINDINGS; i++) {
    if (!check_value(b, &d, root, e)) return false;
    draw_env(&d);
  }
  return true;
}

static uint64_t first_seed;

static void draw_thousand(sym_bench *b) {
  int bad = 0;
  for (int i = 0; i < N_SYMBOLS; i++) (void)sym_of(b, names[i]);
  tn_sym_find_symbol(b->t, "min_1")->min = -5;
  for (size_t i = 0; i < TN_COUNT(facts); i++) sym_assume(b, facts[i]);
  for (uint64_t i = 0; i < 1000 && bad < 3; i++) bad += !check_draw(b, first_seed + i);
}

TEST(random_expressions) {
  const char *const env = getenv("TN_DRAWS");
  const char *const from = getenv("TN_SEED");
  const uint64_t n = env ? strtoull(env, NULL, 10) : 20000, start = from ? strtoull(from, NULL, 10) : 1;
  for (uint64_t i = 0; i < n && test_n_bad < 3; i += 1000) { /* a new table now and then */
    first_seed = start + i;
    sym_bench_run(draw_thousand);
  }
}
