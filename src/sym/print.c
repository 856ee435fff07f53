/* Expressions as text. What is printed parses back to the same node, except what is nested past
 * TN_SYM_PRINT_DEPTH or has more than PRINT_MAX_SIZE nodes: there a `?` stands, which does not parse. */
#include "base/half.h"
#include "sym/node.h"

enum { PRINT_MAX_SIZE = 1 << 16 };

/* Binding strength, weakest first. */
typedef enum print_level {
  PRINT_ANY,
  PRINT_OR,
  PRINT_AND,
  PRINT_NOT,
  PRINT_COMPARE,
  PRINT_SUM,
  PRINT_PRODUCT,
  PRINT_UNARY,
  PRINT_ATOM
} print_level;

typedef struct printer {
  tn_symtab *t;
  tn_text *out;
  int depth;
} printer;

static const char *const print_words[] = {"and", "bcast", "ceildiv", "f32ratio", "f32scale", "max",
                                          "min", "not",   "or",      "overflow", "select"};

bool tn_sym_is_word(tn_str name) {
  for (size_t i = 0; i < TN_COUNT(print_words) && name.len > 1; i++)
    if (print_words[i][0] == name.ptr[0] && tn_str_is(name, print_words[i])) return true;
  return false;
}

static bool print_is_name(tn_str s) {
  if (s.len == 0 || tn_sym_is_word(s)) return false;
  for (size_t i = 0; i < s.len; i++) {
    const char c = s.ptr[i];
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    if (!letter && (i == 0 || c < '0' || c > '9')) return false;
  }
  return true;
}

static void print_expr(printer *p, tn_sym e, print_level need);

static void print_name(printer *p, const char *name) {
  const tn_str s = tn_str_of(name);
  if (print_is_name(s)) {
    tn_text_add(p->out, s);
  } else {
    tn_text_quote(p->out, s);
  }
}

/* The lexer reads magnitudes, and that of INT64_MIN does not fit. */
static void print_int(printer *p, int64_t v) {
  if (v == INT64_MIN) {
    tn_text_addz(p->out, "(-9223372036854775807 - 1)");
  } else {
    tn_text_i64(p->out, v);
  }
}

/* coef * mono without the sign of coef (but for INT64_MIN); `leading` when a minus stands right before it. */
static void print_term(printer *p, int64_t coef, tn_sym mono, bool leading_minus) {
  const int64_t c = coef < 0 && coef != INT64_MIN ? -coef : coef;
  const bool factor = c != 1 || leading_minus;
  if (c != 1) {
    print_int(p, c);
    tn_text_addz(p->out, "*");
  }
  if (!factor) {
    print_expr(p, mono, PRINT_PRODUCT);
  } else if (mono->kind == TN_SYM_MUL) {
    print_expr(p, mono, PRINT_PRODUCT);
  } else {
    print_expr(p, mono, PRINT_ATOM);
  }
}

static bool print_is_minus(int64_t coef) { return coef < 0 && coef != INT64_MIN; }

/* Positive terms, the constant, negative terms: `1 - N`, `N - 1`, `b - a`. */
static void print_sum(printer *p, tn_sym e) {
  bool first = true;
  for (uint32_t i = 0; i < e->n; i++) {
    if (print_is_minus(e->coefs[i])) continue;
    if (!first) tn_text_addz(p->out, " + ");
    print_term(p, e->coefs[i], e->args[i], false);
    first = false;
  }
  const bool lead = first && e->k > 0; /* the constant opens the sum rather than a minus */
  if (lead) print_int(p, e->k);
  if (lead) first = false;
  for (uint32_t i = 0; i < e->n; i++) {
    if (!print_is_minus(e->coefs[i])) continue;
    tn_text_addz(p->out, first ? "-" : " - ");
    print_term(p, e->coefs[i], e->args[i], first);
    first = false;
  }
  if (e->k == 0 || lead) return;
  tn_text_addz(p->out, print_is_minus(e->k) ? " - " : " + ");
  print_int(p, print_is_minus(e->k) ? -e->k : e->k);
}

static void print_list(printer *p, tn_sym e, const char *between, print_level need) {
  for (uint32_t i = 0; i < e->n; i++) {
    if (i > 0) tn_text_addz(p->out, between);
    print_expr(p, e->args[i], need);
  }
}

static void print_call(printer *p, const char *name, tn_sym e) {
  tn_text_addz(p->out, name);
  tn_text_addz(p->out, "(");
  print_list(p, e, ", ", PRINT_ANY);
  if (e->kind == TN_SYM_F32SCALE) {
    tn_text_addz(p->out, ", ");
    tn_text_f32(p->out, tn_f32_of_bits((uint32_t)e->k));
  }
  tn_text_addz(p->out, ")");
}

/* The left side of // and % may be a product or a single scaled term: both bind to the left. */
static void print_divide(printer *p, const char *op, tn_sym e) {
  const tn_sym a = e->args[0];
  const bool bare = a->kind == TN_SYM_MUL || (a->kind == TN_SYM_ADD && a->n == 1 && a->k == 0 && a->coefs[0] > 1);
  if (bare && a->kind == TN_SYM_ADD) {
    print_term(p, a->coefs[0], a->args[0], false);
  } else {
    print_expr(p, a, bare ? PRINT_PRODUCT : PRINT_ATOM);
  }
  tn_text_addz(p->out, op);
  print_expr(p, e->args[1], PRINT_ATOM);
}

static void print_two(printer *p, const char *op, tn_sym e, print_level need) {
  print_expr(p, e->args[0], need);
  tn_text_addz(p->out, op);
  print_expr(p, e->args[1], need);
}

static print_level print_level_of(tn_sym e) {
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_OR:
      return PRINT_OR;
    case TN_SYM_AND:
      return PRINT_AND;
    case TN_SYM_NOT:
      return e->args[0]->kind == TN_SYM_EQ ? PRINT_COMPARE : PRINT_NOT;
    case TN_SYM_EQ:
    case TN_SYM_LT:
    case TN_SYM_LE:
      return PRINT_COMPARE;
    case TN_SYM_ADD:
      return PRINT_SUM;
    case TN_SYM_MUL:
    case TN_SYM_FLOORDIV:
    case TN_SYM_MOD:
      return PRINT_PRODUCT;
    case TN_SYM_INT:
      return e->k < 0 && e->k != INT64_MIN ? PRINT_UNARY : PRINT_ATOM;
    default:
      return PRINT_ATOM;
  }
}

static void print_node(printer *p, tn_sym e) {
  switch ((tn_sym_kind)e->kind) {
    case TN_SYM_INT:
      print_int(p, e->k);
      break;
    case TN_SYM_VAR:
      print_name(p, p->t->symbols.at[e->k].name);
      break;
    case TN_SYM_ADD:
      print_sum(p, e);
      break;
    case TN_SYM_MUL:
      print_list(p, e, "*", PRINT_ATOM);
      break;
    case TN_SYM_FLOORDIV:
      print_divide(p, "//", e);
      break;
    case TN_SYM_MOD:
      print_divide(p, " % ", e);
      break;
    case TN_SYM_CEILDIV:
      print_call(p, "ceildiv", e);
      break;
    case TN_SYM_MIN:
      print_call(p, "min", e);
      break;
    case TN_SYM_MAX:
      print_call(p, "max", e);
      break;
    case TN_SYM_BCAST:
      print_call(p, "bcast", e);
      break;
    case TN_SYM_F32SCALE:
      print_call(p, "f32scale", e);
      break;
    case TN_SYM_F32RATIO:
      print_call(p, "f32ratio", e);
      break;
    case TN_SYM_SELECT:
      print_call(p, "select", e);
      break;
    case TN_SYM_EQ:
      print_two(p, " == ", e, PRINT_SUM);
      break;
    case TN_SYM_LT:
      print_two(p, " < ", e, PRINT_SUM);
      break;
    case TN_SYM_LE:
      print_two(p, " <= ", e, PRINT_SUM);
      break;
    case TN_SYM_AND:
      print_list(p, e, " and ", PRINT_NOT);
      break;
    case TN_SYM_OR:
      print_list(p, e, " or ", PRINT_AND);
      break;
    case TN_SYM_NOT:
      if (e->args[0]->kind == TN_SYM_EQ) {
        print_two(p, " != ", e->args[0], PRINT_SUM);
      } else {
        tn_text_addz(p->out, "not ");
        print_expr(p, e->args[0], PRINT_NOT);
      }
      break;
    case TN_SYM_OVERFLOW:
    case TN_N_SYM_KINDS:
      tn_text_addz(p->out, "overflow");
      break;
  }
}

static void print_expr(printer *p, tn_sym e, print_level need) {
  if (p->depth >= TN_SYM_PRINT_DEPTH) {
    tn_text_addz(p->out, "?");
    return;
  }
  const bool paren = print_level_of(e) < need;
  p->depth++;
  if (paren) tn_text_addz(p->out, "(");
  print_node(p, e);
  if (paren) tn_text_addz(p->out, ")");
  p->depth--;
}

void tn_sym_print(tn_symtab *t, tn_text *out, tn_sym e) {
  printer p = {.t = t, .out = out};
  if (e->size > PRINT_MAX_SIZE) {
    tn_text_addz(out, "?");
  } else {
    print_expr(&p, e, PRINT_ANY);
  }
}

const char *tn_sym_text(tn_symtab *t, tn_sym e) {
  tn_text text;
  tn_text_init(&text, t->arena);
  tn_sym_print(t, &text, e);
  return tn_text_z(&text);
}
