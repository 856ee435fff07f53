/* The operator interface: one descriptor per operator, found by scan, never listed by hand.
 *
 * A file src/op/<family>.c holds descriptors and the ONNX rows that lead to them:
 *
 *     TN_OP(softmax) {
 *       .name = "softmax", .in = {{"x", TN_SET_FLOATS}}, .out = {{"y"}},
 *       .attrs = {{"axis", TN_ATTR_INT, .i = -1}},
 *       .type = tn_type_as_input, .shape = softmax_shape, .eval = softmax_eval, .kernel = "softmax",
 *       .accuracy = {TN_ACC_REL, 1e-6}, .doc = "exp(x - max) / sum over `axis`",
 *     };
 *     TN_ONNX(ai, Softmax, 13, TN_LATEST, softmax, tn_import_same)
 *     TN_ONNX(ai, Softmax, 1, 12, softmax, softmax_import_1)
 *
 * The build scans src/op for lines that begin with TN_OP(, TN_<FAMILY>_OP( or TN_ONNX( and writes two sorted lists:
 * op_list.inc with TN_OP_ROW(name) and onnx_list.inc with TN_ONNX_ROW(domain, Name, since). The first argument of a
 * *_OP macro is the operator's identifier; the macro must define `const tn_op tn_op_<identifier>`. */
#ifndef TN_IR_OP_H
#define TN_IR_OP_H

#include <limits.h>

#include "ir/graph.h"

enum { TN_MAX_PORTS = 16, TN_MAX_ATTRS = 24 };

enum { /* port flags */
       TN_PORT_OPTIONAL = 1,
       TN_PORT_VARIADIC = 2, /* the last port: any number >= 1 (or >= 0 with OPTIONAL) */
       TN_PORT_ANY_KIND = 4, /* also sequences, optionals, maps */
       TN_PORT_SEQUENCE = 8, /* a sequence (or, as the operator wants, an optional or map) */
       TN_PORT_MIXED = 16,   /* VARIADIC whose members may differ in element type */
       TN_PORT_SHAPES = 32   /* inputs: the elements decide the results' shapes */
};

typedef struct tn_port {
  const char *name; /* as in the ONNX schema, lower case */
  uint64_t dtypes;  /* TN_SET_*; 0 = any */
  const char *same; /* type group: ports with the same group name have one element type ("T"); NULL = free */
  uint32_t flags;
  uint8_t rank;    /* inputs: the one rank allowed; 0 = any. A value whose rank only the run knows is pinned to it */
  uint8_t rank_as; /* inputs: 1 + the input that has the same rank; 0 = none */
} tn_port;

typedef struct tn_attr_row {
  const char *name;
  tn_attr_kind kind;
  int64_t i; /* defaults, by kind */
  double f;
  const char *s;    /* STR */
  bool has_default; /* INT, FLOAT and STR rows with a non-zero default need not set it */
  bool required;
} tn_attr_row;

typedef enum tn_acc_kind {
  TN_ACC_EXACT, /* bit for bit */
  TN_ACC_REL,   /* |a-b| <= tol * max(1, |b|), in the output's precision scaled from f32 */
  TN_ACC_SUM,   /* the same with the largest |b| of the output: sums of products, whose terms may cancel */
  TN_ACC_ULP,   /* tol units in the last place of the output type */
  TN_ACC_RANDOM /* only type, shape and distribution */
} tn_acc_kind;
typedef struct tn_accuracy {
  tn_acc_kind kind;
  double tol;
} tn_accuracy;

enum {                           /* traits */
       TN_TRAIT_PURE = 1,        /* no effect but its results: may be folded, shared and removed */
       TN_TRAIT_ELEMENTWISE = 2, /* result element i depends on operand elements i (with broadcasting) */
       TN_TRAIT_COMMUTATIVE = 4,
       TN_TRAIT_VIEW = 8, /* output 0 has input 0's elements in the same order: no data moves */
       TN_TRAIT_RANDOM = 16,
       TN_TRAIT_CONTROL = 32, /* owns regions; executed by the run time itself */
       TN_TRAIT_HOST = 64     /* shape arithmetic: cheap, small data */
};

typedef enum tn_size_class {                 /* who decides the sizes of results */
                             TN_SIZES_TOLD,  /* shapes, attributes and the inputs that are SHAPES */
                             TN_SIZES_BOUND, /* data, within bounds that those give */
                             TN_SIZES_OPEN   /* the run alone */
} tn_size_class;

typedef enum tn_view_part { /* results that are elements of operand 0 which may lie together (pass/part.c) */
                            TN_PART_NONE,
                            TN_PART_SPLIT, /* one after another along `axis` */
                            TN_PART_PICK,  /* those that operand 1 names along `axis` */
                            TN_PART_CUT /* from operand 1 on, along the axes in operand 3, by the steps in operand 4 */
} tn_view_part;

struct tn_rule;
struct tn_eval;
struct tn_rewrite;
struct tn_import;

typedef struct tn_op {
  const char *name;
  tn_port in[TN_MAX_PORTS]; /* up to the first NULL name */
  tn_port out[TN_MAX_PORTS];
  tn_attr_row attrs[TN_MAX_ATTRS]; /* up to the first NULL name; names as in ONNX */
  int n_regions;                   /* regions a node of this operator owns */
  /* Element types of the outputs from those of the inputs and the attributes. Runs first. */
  tn_status (*type)(struct tn_rule *r);
  /* Kinds, ranks and dims of the outputs; demands go into the ledger. */
  tn_status (*shape)(struct tn_rule *r);
  /* Symbolic content of the outputs; NULL: never known. */
  tn_status (*value)(struct tn_rule *r);
  /* The oracle: what the outputs are, by plain loops in double or int64. NULL only for control operators. */
  tn_status (*eval)(struct tn_eval *e);
  /* Local rewrites of one node; NULL: none. */
  tn_status (*simplify)(struct tn_rewrite *w);
  const char *kernel; /* row of the kernel table (TN_KERNEL); NULL: must not reach emission (control, rewritten) */
  uint32_t traits;
  int (*axis)(const tn_node *node, int input, int axis); /* ir/axis.h; NULL: by the traits */
  tn_view_part part;
  tn_size_class sizes;
  tn_accuracy accuracy;
  const char *doc;
} tn_op;

#define TN_OP(id)                \
  extern const tn_op tn_op_##id; \
  const tn_op tn_op_##id =

const tn_op *tn_op_find(const char *name); /* NULL when there is none */
int tn_op_count(void);
const tn_op *tn_op_at(int i);                                     /* sorted by name */
int tn_op_attr_index(const tn_op *op, const char *name);          /* -1 when absent */
const tn_attr *tn_op_attr(const tn_node *node, const char *name); /* NULL when absent, or not in the schema */
int tn_op_n_attrs(const tn_op *op);
/* What the shapes of results follow from. 1: shapes and attributes; 2: elements of inputs too; 3: data, within bounds;
 * 4: the run alone. */
int tn_op_shape_class(const tn_op *op);
bool tn_attr_row_default(const tn_attr_row *row, tn_attr *out); /* false when the row has none */
/* The port that serves input (output) i; a last VARIADIC port serves all that follow. NULL when there is none. */
const tn_port *tn_op_in_port(const tn_op *op, int i);
const tn_port *tn_op_out_port(const tn_op *op, int i);
/* What is wrong with a node by its operator's schema (operands and results by number, attributes, regions): a sentence
 * in `a`, or NULL. Types are not looked at. */
const char *tn_op_fault(tn_arena *a, const tn_node *node);
/* The tables behind these functions: src/op/table.c, sorted as the scan sorts. */
extern const tn_op *const tn_op_rows[];
extern const int tn_op_rows_n;

/* ONNX operators. Domains by tag: ai = "" (also "ai.onnx"), ml = "ai.onnx.ml", ms = "com.microsoft",
 * preview = "ai.onnx.preview", training = "ai.onnx.preview.training". */
enum { TN_LATEST = INT_MAX, TN_KNOWN_OPSET = 28 };
typedef struct tn_onnx_row {
  const char *domain, *name;
  int since, last; /* opset versions of the domain this row serves */
  const tn_op *op; /* what tn_import_same makes; NULL: refused (TN_ONNX_REFUSED) */
  tn_status (*import)(struct tn_import *im);
} tn_onnx_row;

extern const tn_onnx_row *const tn_onnx_rows[];
extern const int tn_onnx_rows_n;

#define TN_DOMAIN_ai ""
#define TN_DOMAIN_ml "ai.onnx.ml"
#define TN_DOMAIN_ms "com.microsoft"
#define TN_DOMAIN_preview "ai.onnx.preview"
#define TN_DOMAIN_training "ai.onnx.preview.training"

#define TN_ONNX(tag, onnx_name, since_, last_, op_id, import_fn)                                       \
  extern const tn_op tn_op_##op_id;                                                                    \
  extern const tn_onnx_row tn_onnx_##tag##_##onnx_name##_##since_;                                     \
  const tn_onnx_row tn_onnx_##tag##_##onnx_name##_##since_ = {TN_DOMAIN_##tag, #onnx_name,     since_, \
                                                              last_,           &tn_op_##op_id, import_fn};

/* An operator that Tenon knows of and refuses: `import_fn` says why. */
#define TN_ONNX_REFUSED(tag, onnx_name, since_, last_, import_fn)                                  \
  extern const tn_onnx_row tn_onnx_##tag##_##onnx_name##_##since_;                                 \
  const tn_onnx_row tn_onnx_##tag##_##onnx_name##_##since_ = {TN_DOMAIN_##tag, #onnx_name, since_, \
                                                              last_,           NULL,       import_fn};

/* The row for (domain, name) at an opset version; NULL when none serves it. `*out_known` (may be NULL) says whether
 * the name exists in the domain at all. "ai.onnx" is "". */
const tn_onnx_row *tn_onnx_find(const char *domain, const char *name, int64_t version, bool *out_known);
int tn_onnx_count(void);
const tn_onnx_row *tn_onnx_at(int i); /* sorted by domain tag, name, since */

#endif
