/* Bindings of a model's symbols: numbers that the conditions on its inputs allow, found by search. */
#ifndef TN_DRIVER_BINDING_H
#define TN_DRIVER_BINDING_H

#include "ir/graph.h"

typedef struct tn_binding {
  tn_graph *graph;
  tn_ctx *ctx;
  tn_symtab *syms;
  TN_VEC(uint32_t) inputs;              /* symbols that are to be chosen, distinct */
  TN_VEC(tn_sym) wishes;                /* checks of the run that the inputs alone decide, should they be reached */
  TN_VEC(tn_sym) conditions;            /* checks that the inputs alone decide */
  TN_VEC(const tn_check *) early, late; /* the graph's checks: those behind `conditions`, and those of the run */
  tn_sym *coordinates;     /* by input: in the numbers that the equations leave free; made by the first search */
  const tn_sym_set **sets; /* by symbol: what the conditions on it alone leave, or NULL; made with the coordinates */
  bool with_wishes;        /* do the numbers that are searched meet the wishes too? */
  int64_t *value;          /* by symbol: the numbers chosen */
  bool *bound;             /* by symbol: is it one of the inputs? */
  bool is_free;            /* of a condition being collected: does it speak of what is no input? */
} tn_binding;

/* Collects the symbols of the inputs' dims (and of their contents, when `with_contents`) and of the early checks. What
 * the user assumed of these counts as a condition. */
void tn_binding_init(tn_binding *b, tn_graph *g, bool with_contents);
/* The values chosen, as tn_sym_env wants them; arg is the binding. */
bool tn_binding_env(void *arg, uint32_t symbol, int64_t *out);
bool tn_binding_holds(tn_binding *b, tn_sym condition);
bool tn_binding_all_hold(tn_binding *b);
/* May the symbol be v by its own facts? */
bool tn_binding_may_be(const tn_binding *b, uint32_t symbol, int64_t v);
/* The k-th number of those a symbol may be, from 1 up where it may be that. */
int64_t tn_binding_number(const tn_binding *b, uint32_t symbol, int64_t k);
/* Some valid numbers, small ones first, that meet the wishes where that can be; the same each time. False when none
 * were found. */
bool tn_binding_find(tn_binding *b);
/* Valid numbers drawn from stream `seed`: mostly small, now and then 0, for elements also negative, and such that the
 * wishes hold where that can be. */
bool tn_binding_draw(tn_binding *b, uint64_t seed);
/* One symbol after the other to the smallest number that keeps all conditions. */
void tn_binding_shrink(tn_binding *b);
/* The numbers chosen: "N = 2, S = 7", or members of a JSON object. */
const char *tn_binding_text(const tn_binding *b, tn_arena *a, bool json);

#endif
