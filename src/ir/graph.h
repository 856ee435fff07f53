/* The graph: values, nodes, regions. Everything lives in the context's arena and never moves; ids are dense, so passes
 * keep their data in side tables indexed by id. Only ir/edit.h changes a graph after it was built.
 *
 * A region is a list of nodes in an order in which every use follows its definition, parameters and results. The main
 * graph is a region; If, Loop and Scan nodes own regions. A node in an inner region may use values of outer ones. */
#ifndef TN_IR_GRAPH_H
#define TN_IR_GRAPH_H

#include "base/map.h"
#include "ir/attr.h"

struct tn_op;
typedef struct tn_node tn_node;
typedef struct tn_value tn_value;
typedef struct tn_region tn_region;
typedef struct tn_graph tn_graph;

enum { TN_MAX_NESTING = 12 }; /* regions in regions: kept by whoever builds a graph from input */

typedef struct tn_use { /* one operand slot, or one result of a region */
  union {
    tn_node *node;     /* !is_result */
    tn_region *region; /* is_result */
  };
  int index;
  bool is_result;
  struct tn_use *prev, *next; /* other uses of the same value */
} tn_use;

struct tn_value {
  uint32_t id;
  int index; /* result number of def, or parameter number of region */
  uint32_t n_uses;
  bool name_made;   /* made up: gives way to a model's */
  const char *name; /* the model's name where unique, else made up; unique in the graph, interned */
  tn_type type;
  tn_node *def;      /* NULL for parameters */
  tn_region *region; /* owner */
  tn_use *uses;      /* in no particular order: never iterate where order shows */
};

struct tn_node {
  const struct tn_op *op;
  tn_region *region;
  tn_node *prev, *next;
  uint32_t id;
  int n_in, n_out, n_regions;
  tn_value **in;  /* NULL = absent optional input */
  tn_use *uses;   /* n_in of them */
  tn_value **out; /* NULL = absent optional output */
  tn_attr *attrs; /* one per row of op->attrs, kind NONE = absent without default */
  tn_region **regions;
  tn_loc loc;                   /* the user's node */
  const struct tn_marks *marks; /* what the user's model says of it for the split (ir/mark.h), or NULL */
};

struct tn_region {
  uint32_t id;
  tn_graph *graph;
  tn_node *owner; /* NULL for the main graph */
  const char *name;
  int n_params, n_results;
  tn_value **params;
  tn_value **results;
  tn_use *result_uses;
  const char **result_names; /* what the outside calls the results: survives the replacement of the value */
  tn_node *first, *last;
  uint32_t n_nodes;
  bool dead;         /* inference: never entered, so its facts are not known; the pass `prune` removes it */
  tn_region *merged; /* the region that took over its nodes when the owner was simplified away, else NULL */
};

/* A demand of a shape rule that could be neither proved nor refuted: checked when its symbols are bound, and not before
 * its region is entered (a branch that is not taken demands nothing). */
typedef struct tn_check {
  tn_region *region;
  tn_sym condition;
  tn_loc loc;
  const char *text; /* "cannot broadcast dim 1: S with T" */
} tn_check;

struct tn_graph {
  tn_ctx *ctx;
  tn_symtab *syms;
  tn_region *main;
  uint32_t n_values, n_nodes, n_regions; /* ids given out so far */
  TN_VEC(tn_check) checks;               /* the ledger: distinct conditions by region, in order of discovery */
  TN_VEC(tn_sym) assumed;                /* conditions assumed by the user */
  int64_t edits;                         /* changes made through ir/edit.h */
  TN_VEC(tn_value *) value_of;           /* by tn_intern_id of the name; see tn_graph_named */
  /* Behind the functions of ir/: */
  tn_map name_next;      /* interned stem -> next suffix to try */
  tn_map fresh;          /* value id << 32 | dim -> number of the symbol of tn_rule_fresh */
  tn_map bounded;        /* id of an expression past the size limit -> number of the symbol that stands for it */
  tn_map check_of;       /* condition and region, hashed -> 1 */
  tn_premises *premises; /* of the first n_premises checks, or NULL: see ir/ledger.h */
  size_t n_premises;
  int64_t derived;          /* nodes that Gradient walked and made */
  int64_t region_work;      /* nodes inferred in regions since the last node of the main graph */
  TN_VEC(uint8_t) inferred; /* by value id: the shape came from a rule, not from a claim */
};

/* Where the use has its value. */
static inline tn_value **tn_use_slot(const tn_use *u) {
  return u->is_result ? &u->region->results[u->index] : &u->node->in[u->index];
}
/* The node it belongs to; of a result the owner of the region, NULL in the main graph. */
static inline tn_node *tn_use_node(const tn_use *u) { return u->is_result ? u->region->owner : u->node; }

tn_graph *tn_graph_new(tn_ctx *ctx);                                              /* with an empty main region */
tn_value *tn_graph_find_value(const tn_graph *g, const char *name);               /* by text; NULL when absent */
static inline tn_value *tn_graph_named(const tn_graph *g, const char *interned) { /* NULL when absent */
  const uint32_t id = tn_intern_id(interned);
  return id < g->value_of.n ? g->value_of.at[id] : NULL;
}
/* Calls visit for every node, outer before inner, in program order; stops at the first status that is not OK.
 * visit may change the graph, but erase no node that is still to come, nor its own. */
TN_MUST_CHECK tn_status tn_graph_walk(tn_graph *g, tn_status (*visit)(void *arg, tn_node *node), void *arg);

#endif
