/* Tables of engines that the user gives: what each takes and what it costs (doc/target.md has the text form). */
#ifndef TN_PASS_TARGET_H
#define TN_PASS_TARGET_H

#include "ir/graph.h"

/* Weights: of the rule for small parts (nanoseconds) and of stages (operations and bytes in a nanosecond). */
typedef struct tn_split_cost {
  int64_t node;  /* saved by each operator that is planned ahead */
  int64_t kib;   /* saved by each KiB that needs not go through memory between two elementwise nodes of a part */
  int64_t part;  /* paid for a part: one more entry */
  int64_t value; /* paid for each value that crosses its boundary */
  int64_t flops; /* done in a nanosecond */
  int64_t bytes; /* moved in a nanosecond */
} tn_split_cost;

typedef struct tn_target_cond { /* "group == 1": of each element of a list */
  const char *attr;
  const char *compare; /* "==", "!=", "<", "<=", ">", ">=" */
  const char *text;    /* a string to compare with, or NULL: */
  double number;
} tn_target_cond;

typedef struct tn_target_rule { /* an `op` line */
  uint64_t dtypes;              /* of operand 0 and result 0; 0: any */
  int min_rank, max_rank;       /* of operand 0 */
  TN_VEC(tn_target_cond) conds;
} tn_target_rule;

typedef struct tn_target_row { /* an operator named on an `op` line */
  const tn_target_rule *rule;
  struct tn_target_row *next; /* of the same operator, in the order of the file */
  struct tn_target_row *last; /* of the first row: the end of the list */
} tn_target_row;

typedef struct tn_target_ops { /* operators that are named together */
  tn_map rows;                 /* interned name of an operator, ONNX's or ours -> tn_target_row * */
  tn_target_row *any_row;      /* "*" */
} tn_target_ops;

typedef struct tn_target_composite { /* a chain of operators that an engine takes as one */
  const char *name;
  TN_VEC(tn_target_ops) steps; /* the result of each goes to the next one alone */
} tn_target_composite;

typedef struct tn_target_engine {
  const char *name;
  int64_t order;    /* the lowest that takes a node gets it; equal ones in the order of the file */
  bool is_static;   /* takes fixed shapes only */
  bool is_host;     /* runs between the device's parts: its nodes are dynamic */
  bool is_excluded; /* by the user: it takes nothing */
  tn_split_cost cost;
  tn_target_ops ops;
  TN_VEC(tn_target_composite) composites; /* in the order of the file */
} tn_target_engine;

typedef struct tn_target {
  TN_VEC(tn_target_engine) engines; /* by order; the last one is "tenon", which takes everything */
} tn_target;

enum { TN_TARGET_MAX_STEPS = 16 }; /* of a composite */

extern const tn_split_cost tn_split_default_cost;

tn_target *tn_target_new(tn_ctx *ctx); /* "tenon" alone */
/* Reads untrusted text; messages name lines of `file`. */
TN_MUST_CHECK tn_status tn_target_parse(tn_ctx *ctx, const char *file, tn_str text, tn_target **out);
tn_target_engine *tn_target_find(const tn_target *t, const char *name); /* NULL: none */
bool tn_target_is_last(const tn_target *t, const tn_target_engine *e);  /* is it "tenon"? */
/* Why the engine cannot have the node, in the context's arena; NULL: it can. Sizes, `is_static`, are not looked at. */
const char *tn_target_refuse(tn_ctx *ctx, const tn_target_engine *e, const tn_node *node);
/* The same for a step of a composite. */
const char *tn_target_refuse_step(tn_ctx *ctx, const tn_target_ops *step, const tn_node *node);

#endif
