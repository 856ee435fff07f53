/* The program: what compiling leaves and running needs. In memory it is these arrays; in a file (`.tnp`) it is one
 * little-endian blob that tn_program_decode maps onto them after one verification. A program is immutable and may be
 * shared by threads.
 *
 * Slots hold integers: the symbols first, then one per distinct expression. Shape code comes in segments; a segment
 * runs when everything it reads is known: segment of region R when R is entered (the main region: at bind), segment of
 * step S after S has run (its results' dims were late). */
#ifndef TN_CODE_PROGRAM_H
#define TN_CODE_PROGRAM_H

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/file.h"
#include "code/shape.h"
#include "tenon/status.h"

enum { TN_PROGRAM_VERSION = 1, TN_NO_INDEX = -1, TN_PROGRAM_MAX_RANK = 16 };

typedef struct tn_pspan { /* a range of one of the program's arrays */
  uint32_t first, n;
} tn_pspan;

typedef struct tn_psymbol {
  const char *name;
  int64_t min, max, multiple_of; /* checked when bound */
} tn_psymbol;

/* Reads a symbol from a value: its dim `index`, or its element when is_elem. */
typedef struct tn_pbind {
  uint32_t slot, value;
  int64_t index;
  uint8_t is_elem;
} tn_pbind;

typedef struct tn_pcheck { /* slot must be non-zero */
  uint32_t slot;
  const char *text; /* whole sentence with the node's name */
} tn_pcheck;

typedef struct tn_psegment {
  tn_pspan binds;  /* first: symbols are read */
  tn_pspan code;   /* then: shape instructions */
  tn_pspan checks; /* then: these must hold */
} tn_psegment;

typedef enum tn_pstore {
  TN_STORE_INPUT,  /* main region's parameter: the caller's buffer */
  TN_STORE_PARAM,  /* inner region's parameter: set on entry */
  TN_STORE_CONST,  /* weights: `offset`, `bytes` */
  TN_STORE_BUFFER, /* buffer `index` of its region's plan */
  TN_STORE_VIEW,   /* same bytes as value `index` (an earlier one), other dims */
  TN_STORE_LATE,   /* sized and allocated when it is produced; sequences and optionals too */
  TN_STORE_SHAPE   /* small integers from slots: elems[first..], written when its segment has run */
} tn_pstore;

typedef struct tn_pvalue {
  const char *name;
  uint8_t kind;  /* 0 tensor, 1 sequence, 2 optional: tn_kkind */
  uint8_t dtype; /* of the tensor (or of the sequence's elements, 0 = varies) */
  uint8_t store; /* tn_pstore */
  int8_t rank;   /* -1: known when produced */
  uint32_t region;
  tn_pspan dims;  /* program->dim_slots: one slot per dim; n == rank. Late values: n == 0 */
  int64_t index;  /* BUFFER: buffer; VIEW: value; INPUT: input number; SHAPE: first of program->dim_slots */
  uint64_t offset, bytes; /* CONST: in weights */
  tn_pspan shape_elems;   /* SHAPE: slots of the elements, in program->dim_slots */
  uint32_t elem_bytes_num, pad; /* reserved, zero */
} tn_pvalue;

/* A buffer lives from step `first` to step `last` of its region (inclusive); bytes = the largest value stored in it. */
typedef struct tn_pbuffer {
  uint32_t region;
  uint32_t first, last;
  uint32_t value; /* whose size it has */
} tn_pbuffer;

typedef struct tn_pattr {
  const char *name;
  uint8_t kind; /* tn_kattr_kind */
  int64_t i;
  double f;
  tn_pspan list;  /* INTS: program->ints; FLOATS: program->floats; STRS: program->strings */
  tn_str s;
  uint32_t value; /* TENSOR: a CONST value */
} tn_pattr;

typedef enum tn_pstep_kind { TN_STEP_KERNEL, TN_STEP_IF, TN_STEP_LOOP, TN_STEP_SCAN, TN_STEP_VIEW, TN_STEP_SEQUENCE_MAP } tn_pstep_kind;

typedef struct tn_pstep {
  uint8_t kind;
  const char *kernel; /* KERNEL: row of the kernel table */
  const char *label;  /* "node '/enc/0/MatMul' (MatMul)" for messages and profiles */
  tn_pspan in, out;   /* program->operands: value numbers, TN_NO_INDEX = absent. VIEW: one each, for late values */
  tn_pspan attrs;
  tn_pspan regions;   /* program->operands: region numbers of a control step. IF: then, else */
  int32_t segment;    /* to run afterwards, or TN_NO_INDEX */
} tn_pstep;

typedef struct tn_pregion {
  tn_pspan params, results; /* program->operands: value numbers */
  tn_pspan steps;           /* program->steps: a contiguous range */
  tn_pspan values;          /* program->values: all values owned by this region, a contiguous range */
  tn_pspan buffers;         /* program->buffers */
  uint32_t segment;         /* to run on entry */
  int32_t parent_step;      /* the control step that owns it, TN_NO_INDEX for region 0 (main) */
} tn_pregion;

typedef struct tn_pio { /* a graph input or output as the user sees it */
  const char *name;
  uint32_t value;
  const char *type_text; /* "f32[N,3,H,W]" */
} tn_pio;

typedef struct tn_program {
  tn_allocator allocator;
  int refs; /* atomic */
  const char *model; /* name for messages */

  const tn_psymbol *symbols; uint32_t n_symbols;
  uint32_t n_slots;
  const tn_shape_ins *code; uint32_t n_code;
  const tn_pbind *binds; uint32_t n_binds;
  const tn_pcheck *checks; uint32_t n_checks;
  const tn_psegment *segments; uint32_t n_segments;
  const uint32_t *dim_slots; uint32_t n_dim_slots;
  const tn_pvalue *values; uint32_t n_values;
  const tn_pbuffer *buffers; uint32_t n_buffers;
  const int32_t *operands; uint32_t n_operands;
  const tn_pattr *attrs; uint32_t n_attrs;
  const int64_t *ints; uint32_t n_ints;
  const double *floats; uint32_t n_floats;
  const tn_str *strings; uint32_t n_strings;
  const tn_pstep *steps; uint32_t n_steps;
  const tn_pregion *regions; uint32_t n_regions;
  const tn_pio *inputs; uint32_t n_inputs;
  const tn_pio *outputs; uint32_t n_outputs;

  /* Weights: CONST values point here. In memory after a compile they are windows on the mapped model files (`external`
   * gives the pointer per value); in a decoded program they are `weights` inside the blob. */
  const uint8_t *weights; uint64_t weights_bytes;
  const void *const *external; /* n_values pointers, or NULL when weights are inside */

  /* What the arrays live in. */
  tn_file *blob;            /* decoded from a mapped file, or NULL */
  void *memory; size_t memory_bytes; /* one block from the allocator holding the arrays, or NULL */
  tn_file **files; uint32_t n_files; /* kept open for `external` */
} tn_program;

/* Checks every index, range, order and type, so that running needs no check. INVALID with a sentence. */
TN_MUST_CHECK tn_status tn_program_verify(const tn_program *p, tn_error *err);
/* The same program as one block of bytes (strings of CONST values inside). Equal programs give equal bytes. */
TN_MUST_CHECK tn_status tn_program_encode(const tn_program *p, tn_allocator allocator, tn_bytes *out, tn_error *err);
/* Untrusted bytes to a verified program; takes over `file` (may be NULL: bytes must then outlive the program). */
TN_MUST_CHECK tn_status tn_program_decode(tn_allocator allocator, tn_bytes bytes, tn_file *file, tn_program **out, tn_error *err);
/* A deep copy of a program whose arrays are in someone's arena, in one block of memory; takes over files. */
TN_MUST_CHECK tn_status tn_program_copy(tn_allocator allocator, const tn_program *p, tn_program **out, tn_error *err);
void tn_program_retain(tn_program *p);
void tn_program_release(tn_program *p);
/* Text for `tenon dump`: one line per symbol, instruction, value, step. `write` receives pieces. */
void tn_program_print(const tn_program *p, void (*write)(void *arg, const char *text, size_t n), void *arg);

#endif
