/* What the files of sym/ share: the table, and sums under construction. Nobody outside sym/ includes this. */
#ifndef TN_SYM_NODE_H
#define TN_SYM_NODE_H

#include "base/hash.h"
#include "base/map.h"
#include "base/vec.h"
#include "sym/sym.h"

__extension__ typedef __int128 tn_i128;

/* Side table, one row per node. A row of an older epoch or stamp counts as empty. */
typedef struct tn_sym_memo {
  tn_interval bounds;
  int64_t divisor;
  int64_t value; /* walks: the number found */
  tn_sym result; /* walks: the node found */
  uint32_t bounds_epoch, divisor_epoch;
  uint32_t stamp; /* the walk that wrote value, result and state */
  uint8_t state;
} tn_sym_memo;

typedef struct tn_sym_frame { /* of a walk over the arguments */
  tn_sym e;
  uint32_t next;
} tn_sym_frame;

/* What an operation gave of late: shape arithmetic says the same again for every layer. */
typedef enum tn_sym_operation {
  TN_DID_ADD = 1,
  TN_DID_SUB,
  TN_DID_MUL,
  TN_DID_EQ,
  TN_DID_LE,
  TN_DID_DIV,
  TN_DID_DIVEXACT
} tn_sym_operation;
typedef struct tn_sym_recent {
  tn_sym a, b, result;
  uint32_t epoch; /* facts take part when a node is made */
  uint32_t operation;
} tn_sym_recent;

enum { TN_SYM_POOLS = 32, TN_SYM_RECENT = 256 };

struct tn_symtab {
  tn_ctx *ctx;
  tn_arena *arena;
  tn_sym *slots; /* open addressing, n_slots a power of two */
  size_t n_slots;
  uint32_t n_nodes;
  TN_VEC(tn_symbol) symbols;
  tn_map by_name;              /* interned name -> symbol number */
  tn_map stems;                /* interned stem -> next suffix to try */
  tn_map defined;              /* expression -> number of the symbol that stands for it */
  TN_VEC(tn_sym_memo) memo;    /* by node id */
  uint32_t epoch;              /* grows when a fact may have changed */
  uint32_t stamp;              /* grows with every walk */
  TN_VEC(tn_sym_frame) frames; /* of evaluations that run */
  tn_map truth;                /* condition -> 1 (assumed) or 0 (its negation assumed) */
  tn_map lower;                /* sum without constant -> largest known lower bound (as uint64_t) */
  tn_sym zero, one, overflow;
  void *pool[TN_SYM_POOLS]; /* buffers of dropped sums, by size class */
  int depth;                /* of the running walk over bounds or divisors */
  tn_sym_recent recent[TN_SYM_RECENT];
};

enum {
  TN_SYM_MAX_PRODUCT = 64, /* terms a product of sums may expand to */
  TN_SYM_MAX_PAIRS = 64,   /* terms up to which a sum looks for halves and remainders that belong together */
  TN_SYM_PRINT_DEPTH = 200,
  TN_SYM_PARSE_DEPTH = 260
};

/* new.c */
tn_symtab *tn_symtab_new_in(tn_ctx *ctx, tn_arena *arena); /* a table for some questions, gone with the arena */
tn_sym tn_sym_intern(tn_symtab *t, tn_sym_kind kind, int64_t k, const tn_sym *args, const int64_t *coefs, size_t n);
/* The same for arrays of the arena that the node may keep. */
tn_sym tn_sym_intern_own(tn_symtab *t, tn_sym_kind kind, int64_t k, const tn_sym *args, const int64_t *coefs, size_t n);
/* A sum with one more term, args[at]; arrays of the arena that the node may keep. */
tn_sym tn_sym_intern_longer(tn_symtab *t, tn_sym sum, size_t at, const tn_sym *args, const int64_t *coefs);
tn_sym tn_sym_intern2(tn_symtab *t, tn_sym_kind kind, tn_sym a, tn_sym b);
int tn_sym_compare(tn_sym a, tn_sym b); /* total, structural; 0 only for the same pointer */
void tn_sym_sort(tn_symtab *t, tn_sym *at, size_t n);
tn_sym_memo *tn_sym_memo_of(tn_symtab *t, tn_sym e); /* moves when nodes are made */
const tn_symbol *tn_sym_fact(const tn_symtab *t, tn_sym var);
tn_sym tn_sym_fixed(tn_symtab *t, tn_sym e); /* a symbol with one possible value: that value; else e */

/* The row for an operation: it holds the result when tn_sym_did is true. */
static inline tn_sym_recent *tn_sym_recent_of(tn_symtab *t, tn_sym_operation operation, tn_sym a, tn_sym b) {
  return &t->recent[(a->id * 31u + b->id * 7u + (uint32_t)operation) % TN_SYM_RECENT];
}
static inline bool tn_sym_did(const tn_symtab *t, const tn_sym_recent *r, tn_sym_operation operation, tn_sym a,
                              tn_sym b) {
  return r->a == a && r->b == b && r->operation == (uint32_t)operation && r->epoch == t->epoch;
}
static inline tn_sym tn_sym_done(tn_symtab *t, tn_sym_operation operation, tn_sym a, tn_sym b, tn_sym result) {
  *tn_sym_recent_of(t, operation, a, b) = (tn_sym_recent){a, b, result, t->epoch, (uint32_t)operation};
  return result;
}

static inline bool tn_sym_is_overflow(tn_sym e) { return e->kind == TN_SYM_OVERFLOW; }
/* e // k or e % k with a constant k > 0: the kinds that carry algebra. */
static inline bool tn_sym_is_div(tn_sym e) {
  return e->kind == TN_SYM_FLOORDIV && e->args[1]->kind == TN_SYM_INT && e->args[1]->k > 0;
}
static inline bool tn_sym_is_mod(tn_sym e) {
  return e->kind == TN_SYM_MOD && e->args[1]->kind == TN_SYM_INT && e->args[1]->k > 0;
}
int64_t tn_sym_gcd(int64_t a, int64_t b); /* of magnitudes; gcd(0, x) = |x|; INT64_MIN counts as 2^62 */

/* poly.c: k + sum of coef * mono under construction. */
typedef struct tn_sym_term {
  tn_sym mono; /* an atom or a product of atoms */
  int64_t coef;
} tn_sym_term;

typedef struct tn_poly {
  tn_symtab *t;
  tn_sym_term *at;
  size_t n, cap;
  int64_t k;
  bool overflow;
  tn_sym_term small[12];
} tn_poly;

void tn_poly_init(tn_poly *p, tn_symtab *t);
void tn_poly_of(tn_poly *p, tn_symtab *t, tn_sym e);
void tn_poly_assign(tn_poly *to, const tn_poly *from);
void tn_poly_push(tn_poly *p, tn_sym mono, int64_t coef);
void tn_poly_addk(tn_poly *p, int64_t k);
void tn_poly_add(tn_poly *p, tn_sym e, int64_t coef); /* p += coef * e */
void tn_poly_add_poly(tn_poly *p, const tn_poly *q, int64_t coef);
void tn_poly_merge(tn_poly *p);          /* sorts, collects like terms */
void tn_poly_normalise(tn_poly *p);      /* merge, then halves and remainders */
void tn_poly_drop(tn_poly *p);           /* empties p; its buffer serves the next sum */
tn_sym tn_poly_node(tn_poly *p);         /* normalises, and drops p */
tn_sym tn_poly_node_merged(tn_poly *p);  /* of a poly that is in normal form already */
bool tn_poly_negative(const tn_poly *p); /* would its negation be the nicer one? Exactly one of p, -p is negative */
int64_t tn_poly_content(const tn_poly *p, bool with_constant); /* gcd of the coefficients */

size_t tn_poly_n_negative(const tn_poly *p);
void tn_poly_push_times(tn_poly *p, tn_sym mono, tn_sym e, int64_t coef); /* p += coef * mono * e, as it is */

/* pair.c: halves and remainders in one of their spellings */
void tn_poly_pair(tn_poly *p);
bool tn_poly_spell_out(tn_poly *p); /* merged, with x // k and x // 2 alone; false where that would be too long */

/* product.c */
size_t tn_sym_factors(const tn_sym *mono, const tn_sym **out); /* none of 1; *out may be `mono` itself */
bool tn_sym_has_factor(tn_sym mono, tn_sym atom);
tn_sym tn_sym_mono_mul(tn_symtab *t, tn_sym a, tn_sym b);
tn_sym tn_sym_mono_div(tn_symtab *t, tn_sym a, tn_sym b); /* NULL where b does not divide a */
tn_sym tn_sym_product(tn_symtab *t, const tn_sym *factors, size_t n);
/* num == q * den exactly; false when it does not divide as polynomials. */
bool tn_poly_divide(const tn_poly *num, const tn_poly *den, tn_poly *q);

/* divide.c */
tn_sym tn_sym_floordiv_k(tn_symtab *t, tn_sym num, int64_t k); /* k > 0 */

/* lattice.c and logic.c: kind with any number of arguments */
tn_sym tn_sym_lattice(tn_symtab *t, tn_sym_kind kind, const tn_sym *args, size_t n); /* MIN MAX BCAST */
tn_sym tn_sym_logic(tn_symtab *t, tn_sym_kind kind, const tn_sym *args, size_t n);   /* AND OR */

/* subst.c: e as an expression of another table; var gives the other table's node for a symbol */
tn_sym tn_sym_copy(tn_symtab *to, tn_symtab *from, tn_sym e, tn_sym (*var)(void *arg, uint32_t symbol), void *arg);

/* assume.c: as tn_sym_assume, false for a contradiction, without words */
bool tn_sym_assume_quietly(tn_symtab *t, tn_sym condition);

/* bound.c */
tn_interval tn_poly_bounds(const tn_poly *p);
int64_t tn_poly_divisor(const tn_poly *p); /* of the terms, without the constant; 0 when there are none */
bool tn_sym_known_le(tn_symtab *t, tn_sym a, tn_sym b);
bool tn_sym_known_nonzero(tn_symtab *t, tn_sym e);
bool tn_sym_is_bool(tn_symtab *t, tn_sym e);

/* print.c */
bool tn_sym_is_word(tn_str name); /* a function or operator of the text form */

#endif
