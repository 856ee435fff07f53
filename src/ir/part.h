/* Parts of a graph: which nodes go together, made by pass/split_plan.c and applied by pass/split_apply.c. A plan only
 * looks at the graph; nothing has changed until it is applied.
 *
 * Constants are in no part: they are one pool that every part reads. A node that owns regions is in a part of its own
 * region's partition; its regions have partitions of their own. */
#ifndef TN_IR_PART_H
#define TN_IR_PART_H

#include "ir/graph.h"
#include "ir/mark.h"

typedef enum tn_part_kind {
  TN_PART_STATIC,   /* every dim is an integer */
  TN_PART_SYMBOLIC, /* every dim can be computed from the graph's inputs before anything runs */
  TN_PART_DYNAMIC   /* waits for results of the run */
} tn_part_kind;

#define TN_NO_PART UINT32_MAX

typedef struct tn_part {
  const char *name; /* "<graph>_part<n>_<kind>"; unique in the graph; of letters, digits, '_', '.' and '-' */
  tn_part_kind kind;
  const char *engine;
  int32_t stage;   /* TN_NO_STAGE: none was asked for */
  tn_node **nodes; /* in the plan's order: a stable depth-first one in which every use follows its definition */
  uint32_t n_nodes;
  tn_value **inputs; /* made outside and used inside, each once, by first use; no constants */
  uint32_t n_inputs;
  tn_value **outputs; /* made inside and used outside (results of the region too), each once, by definition */
  uint32_t n_outputs;
  const char *reason; /* why it is of this kind */
} tn_part;

typedef struct tn_part_edge { /* of the graph of parts; parts are numbered in a topological order: from < to */
  uint32_t from, to;
  bool is_order_only; /* no value goes from one to the other */
} tn_part_edge;

typedef struct tn_partition { /* of one region */
  tn_region *region;
  tn_part *parts;
  uint32_t n_parts;
  tn_part_edge *edges; /* by from, then to */
  uint32_t n_edges;
} tn_partition;

/* Why a node is of its kind: the first rule that hit. Text by tn_part_why. */
typedef enum tn_why_rule {
  TN_WHY_STATIC,  /* all dims are numbers */
  TN_WHY_DIM,     /* dim `index` of `value`: an expression, or known only when run */
  TN_WHY_RANK,    /* of `value` */
  TN_WHY_KIND,    /* `value` is no tensor */
  TN_WHY_PARAM,   /* operand `index`, a parameter */
  TN_WHY_MARK,    /* metadata of the model */
  TN_WHY_PATTERN, /* option number `index` */
  TN_WHY_ENGINE,  /* runs on the host */
  TN_WHY_BODY     /* `node`, in one of its regions */
} tn_why_rule;
typedef struct tn_why {
  uint8_t rule;
  int32_t index;
  union {
    const tn_value *value;
    const tn_node *node;
    const char *text; /* PATTERN, ENGINE */
  };
} tn_why;

typedef struct tn_part_composite { /* nodes that an engine takes as one */
  const char *name;
  tn_node **nodes;
  uint32_t n_nodes;
} tn_part_composite;

typedef struct tn_partition_set { /* of a graph: the main region first, then inner ones, outer before inner */
  tn_graph *graph;
  uint32_t *part_of;                      /* node id -> part of its region's partition, or TN_NO_PART */
  uint8_t *kind_of;                       /* node id -> tn_part_kind; of constants STATIC */
  tn_why *why;                            /* node id -> */
  const char **engine_of;                 /* node id -> name of its engine */
  int32_t *stage_of;                      /* node id -> TN_NO_STAGE: none */
  const char **refused;                   /* node id -> why engines before that one do not take it, or NULL */
  const tn_part_composite **composite_of; /* node id -> what it was taken in, or NULL */
  TN_VEC(tn_partition) regions;
} tn_partition_set;

const char *tn_part_kind_name(tn_part_kind kind); /* "static" */
/* "dim 0 of 'y', u, is known only when run", in the context's arena. */
const char *tn_part_why(const tn_partition_set *s, const tn_node *node);

#endif
