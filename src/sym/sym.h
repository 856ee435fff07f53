/* Symbolic int64 expressions: hash-consed and canonical, so equal means the same pointer.
 *
 * Nothing outside sym/ looks inside a node except through this header. All memory is in the context's arena. Every
 * constructor returns a canonical node; constructors never fail, but integer overflow while folding constants gives the
 * absorbing node `overflow`, whose evaluation is TN_LIMIT. Division and mod by zero are kept and fail on evaluation.
 * What is undefined (division by zero, a bcast of sizes that differ) may become defined by simplification, a defined
 * value never changes. Facts about symbols are used when a node is made: narrowing them later leaves old nodes right,
 * but building the same expression again may then give a simpler node. Semantics: // and % are Python's (floor),
 * ceildiv rounds up, comparisons and logic give 0 or 1. */
#ifndef TN_SYM_SYM_H
#define TN_SYM_SYM_H

#include "base/checked.h"
#include "base/ctx.h"
#include "base/scan.h"
#include "base/text.h"

typedef enum tn_sym_kind {
  TN_SYM_INT,      /* k */
  TN_SYM_VAR,      /* symbol number k */
  TN_SYM_ADD,      /* k + sum of coefs[i] * args[i]; args are products or atoms, ordered, distinct; coefs != 0 */
  TN_SYM_MUL,      /* product of atoms, ordered, repeats allowed (x*x); at least two. A product of sums that would
                      expand to more than 64 terms keeps them as factors */
  TN_SYM_FLOORDIV, /* args[0] // args[1] */
  TN_SYM_CEILDIV,
  TN_SYM_MOD,
  TN_SYM_MIN, /* n-ary, ordered, distinct */
  TN_SYM_MAX,
  TN_SYM_BCAST,    /* equal, or one of them is 1: the other. n-ary, ordered, distinct */
  TN_SYM_F32SCALE, /* floor(float32(args[0]) * c), c = the float whose bits are k */
  TN_SYM_F32RATIO, /* float32(args[0]) * (float32(args[1]) / float32(args[2])) to the nearest integer, halves up */
  TN_SYM_EQ,
  TN_SYM_LT,
  TN_SYM_LE,
  TN_SYM_AND,
  TN_SYM_OR,
  TN_SYM_NOT,
  TN_SYM_SELECT,   /* args[0] ? args[1] : args[2]; only the chosen one is evaluated */
  TN_SYM_OVERFLOW, /* a constant did not fit in int64 */
  TN_N_SYM_KINDS
} tn_sym_kind;

typedef const struct tn_sym_node *tn_sym;
struct tn_sym_node {
  uint8_t kind;
  uint32_t id;   /* dense, in creation order: arguments have smaller ids */
  uint32_t n;    /* arguments */
  uint32_t size; /* nodes of the expression as a tree, saturating: the growth bound */
  int64_t k;
  uint64_t hash; /* of the structure, never of addresses */
  const tn_sym *args;
  const int64_t *coefs; /* ADD only */
};

/* Where a symbol's number comes from. Values are named by their id in the graph (tn_value.id). */
typedef enum tn_source_kind {
  TN_SOURCE_NONE,    /* not known yet */
  TN_SOURCE_DIM,     /* dim `index` of value `value`: a graph input, a region parameter or a node's result */
  TN_SOURCE_ELEM,    /* element `index` of integer value `value` */
  TN_SOURCE_DEFINED, /* stands for `definition`, an expression that grew past the limit */
  TN_SOURCE_GIVEN    /* no value tells it: the user gives it (--dim) */
} tn_source_kind;

typedef struct tn_symbol {
  const char *name; /* interned, unique in the table */
  tn_sym var;
  tn_source_kind source;
  uint32_t value;
  int64_t index;
  tn_sym definition;
  int64_t min, max, multiple_of; /* facts: min <= s <= max, multiple_of divides s (>= 1) */
  tn_sym at_most;                /* s <= at_most, or NULL: how much data may decide; only for people to read */
  bool is_awaited;               /* an assumption speaks of it before it is there: see tn_sym_awaited_symbol */
} tn_symbol;

typedef struct tn_symtab tn_symtab;
tn_symtab *tn_symtab_new(tn_ctx *ctx);

/* Symbols. Defaults: [0, INT64_MAX], multiple of 1, no source. */
tn_symbol *tn_sym_find_symbol(tn_symtab *t, const char *name);    /* NULL when there is none */
tn_symbol *tn_sym_add_symbol(tn_symtab *t, const char *name);     /* existing one of that name, or new */
tn_symbol *tn_sym_fresh_symbol(tn_symtab *t, const char *stem);   /* new; "stem", "stem_1", ... whichever is free */
tn_symbol *tn_sym_awaited_symbol(tn_symtab *t, const char *stem); /* the one of that name that is awaited, or new */
uint32_t tn_sym_n_symbols(const tn_symtab *t);
/* Valid until the next symbol is added. Facts may be narrowed through it before bounds are asked for again, never
 * widened; keep no pointer for that: what was derived from facts is derived again after this call, not after the write.
 */
tn_symbol *tn_sym_symbol(tn_symtab *t, uint32_t number);

/* Constructors. */
tn_sym tn_sym_int(tn_symtab *t, int64_t v);
tn_sym tn_sym_add(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_sum(tn_symtab *t, const tn_sym *terms, size_t n); /* at once: what is added one by one is all kept */
tn_sym tn_sym_sub(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_mul(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_neg(tn_symtab *t, tn_sym a);
tn_sym tn_sym_addi(tn_symtab *t, tn_sym a, int64_t b);
tn_sym tn_sym_muli(tn_symtab *t, tn_sym a, int64_t b);
tn_sym tn_sym_floordiv(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_ceildiv(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_mod(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_min(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_max(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_bcast(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_f32scale(tn_symtab *t, tn_sym a, float c);
tn_sym tn_sym_f32ratio(tn_symtab *t, tn_sym a, tn_sym n, tn_sym d);
tn_sym tn_sym_eq(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_ne(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_lt(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_le(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_and(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_or(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_not(tn_symtab *t, tn_sym a);
tn_sym tn_sym_select(tn_symtab *t, tn_sym c, tn_sym a, tn_sym b);
/* The alternatives of a condition: those of `or`; of x*a == x*b that x is 0, for each factor, and at last that a == b.
 * 0: it has none, or too many. */
enum { TN_SYM_ALTERNATIVES = 4 };
size_t tn_sym_alternatives(tn_symtab *t, tn_sym e, tn_sym out[TN_SYM_ALTERNATIVES]);
/* a / b where b divides a by a fact the caller has (Reshape's -1): cancels common factors exactly, else a // b. */
tn_sym tn_sym_divexact(tn_symtab *t, tn_sym a, tn_sym b);
/* e as it is where no division in it leaves a rest: x for k*(x // k). */
tn_sym tn_sym_without_rests(tn_symtab *t, tn_sym e);
/* The same number, where min and max can be written shorter: min(x, 8) for x - max(0, x - 8), x for min(x, 8) +
 * max(0, x - 8). Sums keep these as they are, so that it does not matter in which order they were built. */
tn_sym tn_sym_tidy(tn_symtab *t, tn_sym e);

static inline bool tn_sym_is_int(tn_sym e) { return e->kind == TN_SYM_INT; }
static inline bool tn_sym_is(tn_sym e, int64_t v) { return e->kind == TN_SYM_INT && e->k == v; }
static inline bool tn_sym_is_var(tn_sym e) { return e->kind == TN_SYM_VAR; }

/* If e's size passes the limit (TN_SYM_MAX_SIZE), returns a fresh symbol defined as e, else e. */
enum { TN_SYM_MAX_SIZE = 400 };
tn_sym tn_sym_bound_size(tn_symtab *t, tn_sym e, const char *stem);

/* e with every symbol s for which subst(arg, s) is not NULL replaced by it. */
tn_sym tn_sym_substitute(tn_symtab *t, tn_sym e, tn_sym (*subst)(void *arg, uint32_t symbol), void *arg);
/* Calls visit for each distinct symbol in e, in order of number; definitions are not entered. */
void tn_sym_symbols(tn_symtab *t, tn_sym e, void (*visit)(void *arg, uint32_t symbol), void *arg);

/* Facts and the prover. No side effects; bounded work; UNKNOWN when it does not see. */
typedef enum tn_truth { TN_UNKNOWN, TN_TRUE, TN_FALSE } tn_truth;
typedef struct tn_interval {
  int64_t lo, hi; /* INT64_MIN / INT64_MAX = no bound known */
} tn_interval;
tn_interval tn_sym_bounds(tn_symtab *t, tn_sym e);
int64_t tn_sym_divisor(tn_symtab *t, tn_sym e); /* largest known d >= 1 with d | e; 0 for the constant 0 */
tn_truth tn_sym_prove(tn_symtab *t, tn_sym condition);
/* Adds a fact; INVALID when it contradicts what is known. `1 <= S`, `S % 8 == 0`, `S <= 64`, `S == T` narrow the
 * symbols' facts, others are kept as given. */
TN_MUST_CHECK tn_status tn_sym_assume(tn_symtab *t, tn_sym condition, tn_loc loc);

/* Conditions that hold together, and what follows from them: equations between sums (S == T, 2*S + 1 == T) and products
 * (A*B == C*D), multiples, orders. Bounded: past 256 conditions more are ignored. The table's own facts are not
 * changed, and must not be narrowed while premises are in use. */
typedef struct tn_premises tn_premises;
tn_premises *tn_premises_new(tn_symtab *t);
void tn_premises_add(tn_premises *p, tn_sym condition);
tn_truth tn_premises_prove(const tn_premises *p, tn_sym condition);
/* The same, and the alternatives of an `or` among the premises one by one. */
tn_truth tn_premises_prove_by_cases(const tn_premises *p, tn_sym condition);
bool tn_premises_contradict(const tn_premises *p); /* seen to have no solution; false promises nothing */
/* e in the variables the equations leave: S where S == T is T; where S % 8 == 0, S becomes 8*S with S for S // 8. */
tn_sym tn_premises_coordinates(const tn_premises *p, tn_sym e);

/* Conditions on one symbol, solved: the numbers that satisfy them all, exactly. From `from` on they repeat with
 * `period`; period 0: there is none past `from`, the symbol's range ends. */
typedef struct tn_sym_set {
  tn_sym var;
  int64_t lo, from, period;
  const bool *has; /* of lo, lo + 1, ..., from + period - 1 */
} tn_sym_set;
/* How many of n conditions could be solved: sums, quotients, remainders, min, max, bcast, comparisons, logic and
 * choices of `var` alone. solved[i] says which; implied[i], that the other solved ones that are not implied imply it.
 * Bounded work; *out lives in the arena. */
size_t tn_sym_solve(tn_symtab *t, tn_arena *arena, tn_sym var, const tn_sym *conditions, size_t n, bool *solved,
                    bool *implied, tn_sym_set *out);
/* Is the condition true wherever those in `given` hold? Told apart are the cases that its symbols (at most three) are
 * 0, and that they are not; what is given first helps to read what follows. Facts stay as they are. */
bool tn_sym_prove_by_zeros(tn_symtab *t, tn_arena *arena, const tn_sym *given, size_t n, tn_sym condition);
int64_t tn_sym_set_count(const tn_sym_set *set); /* numbers in `has` */
bool tn_sym_set_has(const tn_sym_set *set, int64_t number);

/* Exact int64 evaluation; env(arg, s, &v) gives the symbols (false = unbound -> INVALID). Overflow: LIMIT; division by
 * zero, bcast of sizes that differ: INVALID. `and` is 0 when any argument is, `or` 1, even where others fail; sums are
 * added in 128 bits. Records no diagnostic. Defined symbols are evaluated through their definitions unless env gives
 * them. */
typedef bool (*tn_sym_env)(void *arg, uint32_t symbol, int64_t *out);
TN_MUST_CHECK tn_status tn_sym_eval(tn_symtab *t, tn_sym e, tn_sym_env env, void *arg, int64_t *out);
/* Many expressions under one env, which always answers the same: what they share, definitions above all, is evaluated
 * once. */
typedef struct tn_sym_evaluation {
  tn_symtab *t;
  tn_sym_env env;
  void *arg;
  uint32_t stamp;
} tn_sym_evaluation;
tn_sym_evaluation tn_sym_evaluation_begin(tn_symtab *t, tn_sym_env env, void *arg);
TN_MUST_CHECK tn_status tn_sym_evaluate(const tn_sym_evaluation *w, tn_sym e, int64_t *out);

/* The largest number of `var` from lo to hi at which conditions hold: all are defined and not 0. Exact whatever they
 * are; quick where they are orders between what grows with `var`. */
typedef struct tn_sym_question {
  tn_sym var;
  const tn_sym *conditions;
  size_t n;
  tn_sym_env env; /* the other symbols, NULL: none */
  void *arg;
  const tn_sym_set *set; /* `var` is in it, or NULL */
  int64_t lo, hi;
  int64_t found;    /* the number; where work ran out, no larger one will do */
  uint32_t missing; /* a symbol that env does not give */
} tn_sym_question;
/* OK; MISMATCH: there is none; LIMIT: too much work, see `found`; INVALID: see `missing`. Records no diagnostic. */
TN_MUST_CHECK tn_status tn_sym_largest(tn_symtab *t, tn_sym_question *q);

/* What is nested deeper than 200 or larger than 65,536 nodes prints `?` there, which does not parse: see
 * tn_sym_bound_size.
 * Text: integers, names ("..." when no identifier), + - * // %, min max ceildiv bcast f32scale f32ratio select,
 * comparisons, and or not. parse(print(e)) == e as pointers. Unknown names become new symbols. */
void tn_sym_print(tn_symtab *t, tn_text *out, tn_sym e);
const char *tn_sym_text(tn_symtab *t, tn_sym e); /* in the arena */
TN_MUST_CHECK tn_status tn_sym_parse(tn_symtab *t, tn_scan *s, tn_sym *out);
/* A whole string as one expression. A text that does not parse adds no symbols; parse_str says why at loc, try_parse
 * reports nothing (a dim_param that is only a name). Nesting past 260: LIMIT. */
TN_MUST_CHECK tn_status tn_sym_parse_str(tn_symtab *t, tn_str text, tn_loc loc, tn_sym *out);
bool tn_sym_try_parse(tn_symtab *t, tn_str text, tn_sym *out);

#endif
