/* What is known about a value: its type, shape and, for small tensors that shape arithmetic uses, its content. */
#ifndef TN_IR_TYPE_H
#define TN_IR_TYPE_H

#include "base/dtype.h"
#include "sym/sym.h"

enum {
  TN_MAX_RANK = 16,      /* dims of one tensor */
  TN_MAX_CONTENT = 1024, /* elements whose symbolic content is kept */
  TN_RANK_NO_ITEM = -2   /* of the items of a sequence that has none: not known, but any other is narrower knowledge */
};

typedef enum tn_type_kind {
  TN_TYPE_UNKNOWN,
  TN_TYPE_TENSOR,
  TN_TYPE_SEQUENCE,
  TN_TYPE_OPTIONAL,
  TN_TYPE_MAP
} tn_type_kind;

typedef enum tn_elem_kind {
  TN_ELEM_NONE,  /* not known */
  TN_ELEM_SYM,   /* the integer (or 0/1) `sym`; in a float tensor: exactly that integer */
  TN_ELEM_F64,   /* the float constant `f` */
  TN_ELEM_RATIO, /* float tensors: the quotient sym / den, den > 1; rules in op/ratio.c */
  TN_ELEM_SCALED /* float32 tensors: the float32 product of sym and `f` */
} tn_elem_kind;

typedef struct tn_elem {
  tn_elem_kind kind;
  tn_sym sym; /* NULL for NONE and F64 */
  union {
    int64_t den; /* RATIO */
    double f;    /* F64, SCALED */
  };
} tn_elem;

typedef struct tn_type {
  tn_type_kind kind;
  tn_dtype dtype;         /* TENSOR: NONE = not known yet; MAP: of the keys */
  int rank;               /* TENSOR: -1 = not known, or TN_RANK_NO_ITEM */
  const tn_sym *dims;     /* rank of them; an entry is NULL only between import and the pass `symbolize` */
  const tn_elem *content; /* TENSOR: row-major elements, or NULL; their count is the product of dims, all constant */
  const struct tn_type *elem;   /* SEQUENCE, OPTIONAL: element type (may be UNKNOWN); MAP: of one value */
  const struct tn_items *items; /* SEQUENCE: what else is known of its items, or NULL */
} tn_type;

typedef struct tn_items { /* entries are NULL where they are not known */
  tn_sym count;
  const tn_sym *totals; /* by dim of the element type, whose rank is known: the items' sizes added up; or NULL */
  const tn_type *each;  /* `count` types, a constant; or NULL */
} tn_items;

static inline bool tn_type_is_tensor(const tn_type *t) { return t->kind == TN_TYPE_TENSOR; }
static inline bool tn_type_has_rank(const tn_type *t) { return t->kind == TN_TYPE_TENSOR && t->rank >= 0; }

tn_type tn_type_tensor(tn_dtype d, int rank, const tn_sym *dims); /* borrows dims */
bool tn_type_same(const tn_type *a, const tn_type *b);            /* kind, dtype, rank, dims; not content */
bool tn_type_const_dims(const tn_type *t, int64_t *out_dims);     /* all dims constant; out may be NULL */
/* Number of elements as an expression (rank known). */
tn_sym tn_type_count(tn_symtab *syms, const tn_type *t);
int64_t tn_type_content_count(const tn_type *t); /* elements of content; 0 when content is NULL */
/* What a claim says of the elements of a sequence or optional: they differ from each other, so that each dim is
 * constant or open. In the arena; NULL for NULL, and where claims are nested too deep. */
const tn_type *tn_type_open_elem(tn_arena *a, const tn_type *elem);
/* What the elements of two sequences or optionals have in common: dims that differ are open. In the arena. */
const tn_type *tn_type_join_elem(tn_arena *a, const tn_type *x, const tn_type *y);
/* "f32[N,S//2,3]", "f32[*]" (rank unknown), "seq(f32[N])", "opt(...)", "?". */
void tn_type_print(tn_symtab *syms, tn_text *out, const tn_type *t);

#endif
