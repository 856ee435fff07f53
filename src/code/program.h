/* The program: what compiling leaves and running needs. In memory it is these arrays; in a file (`.tnp`) it is one
 * little-endian blob that tn_program_decode maps onto them after one verification. A program is immutable and may be
 * shared by threads.
 *
 * Slots hold integers: the symbols first, then one per distinct expression. Shape code comes in segments; a segment
 * runs when everything it reads is known: segment of region R when R is entered (the main region: at bind), segment of
 * step S after S has run (its results' dims were late).
 *
 * Each segment has one owner, a region or a step; each bind, instruction and check belongs to one segment. A slot is
 * written by one segment at most on any path (sibling regions may write the same slot); a bind whose slot already has a
 * number is a check that both agree. A symbol that nothing writes is given by the caller (tn_rt_set_symbol).
 *
 * When values exist. Every value is owned by one region; its number orders it within the program.
 *   INPUT, PARAM, CONST  from the region's entry
 *   BUFFER               dims from slots known at entry (the offsets are planned then); written by one step
 *   LATE                 written by one step, rank == dims.n: dims from slots known before that step; memory is ready
 *                        when the kernel runs. rank != dims.n (n == 0): the kernel decides (needs TN_K_SIZES), and so
 * do sequences and optionals SHAPE, VIEW          as soon as their slots (and source) are known: at entry, or after the
 * step that made them known VIEW of a VIEW step  when that step runs; dims.n == 0 != rank: the dims of its source
 * Control steps: their outs are BUFFER or LATE; results of their regions are copied there.
 *   IF            in: bool scalar; regions then, else without params; results in order of the outs
 *   LOOP          in: trip count (i64 scalar or absent), condition (bool scalar or absent), states...; region params:
 *                 iteration i64[], condition bool[], states...; results: condition, states..., scan outs...; outs:
 *                 states..., scan outs... (stacked along a new axis 0)
 *   SCAN          in: states..., scan inputs...; params: states..., slices...; results and outs: states..., scan outs.
 *                 Attributes num_scan_inputs, scan_input_axes, scan_input_directions, scan_output_axes,
 *                 scan_output_directions
 *   SEQUENCE_MAP  in: sequence, then sequences or tensors; params: their elements or the tensors; results are appended
 *                 to the outs, which are sequences */
#ifndef TN_CODE_PROGRAM_H
#define TN_CODE_PROGRAM_H

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/file.h"
#include "code/shape.h"
#include "tenon/status.h"

enum { TN_PROGRAM_VERSION = 5, TN_NO_INDEX = -1, TN_PROGRAM_MAX_RANK = 16, TN_PROGRAM_MAX_JOINS = 64 };

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
  uint8_t kind;  /* 0 tensor, 1 sequence, 2 optional, 3 map: tn_kkind */
  uint8_t dtype; /* of the tensor (or of the sequence's elements, 0 = varies, or is a map) */
  uint8_t store; /* tn_pstore */
  int8_t rank;   /* -1: known when produced */
  uint32_t region;
  tn_pspan dims;          /* program->dim_slots: one slot per dim, n == rank; or n == 0: not known before it exists */
  int64_t index;          /* BUFFER: buffer; VIEW: value; INPUT: input number; else 0 */
  uint32_t part;          /* VIEW: 1 + slot of the element of its source where it begins; 0: it is all of it.
                             BUFFER: 1 + place in program->operands of an operand of a step: the value lies where the
                             step's out 0 has that operand; 0: where the buffer begins */
  uint32_t source;        /* CONST: 0: in weights; else 1 + row of sources */
  uint64_t offset, bytes; /* CONST: there */
  tn_pspan shape_elems;   /* SHAPE: slots of the elements, in program->dim_slots */
} tn_pvalue;

/* Ticks: the clock of lifetimes. Steps have them in order of running, from 0; a control step has one when it begins,
 * then follow those of its regions, one after the other, then one when it ends. Values that a control step reads are
 * needed until it ends; results of a region are needed until the last tick in it.
 *
 * A buffer lives from tick `first` to tick `last`, inclusive. Its place is found when `region` is entered, and holds
 * values of that region and of regions inside it, one after the other:
 *   - a kernel may write a value over an operand that nothing reads later (TN_K_IN_PLACE);
 *   - an IF finds the results of its regions in the buffers of its outs, where they are not copied;
 *   - a kernel that joins its operands (TN_K_JOINS) finds them in the parts of its out 0, in whose buffer they lie. The
 *     dims of all its operands are known when the region is entered, those of the out before `axis` are 1, and out 0
 *     may lie in a part of another step's. A place has parts of one step only, a value is TN_PROGRAM_MAX_JOINS parts
 *     deep at most.
 * Without `bytes` it has the size of the largest of its values, all of them of `region`. A buffer of strings holds
 * nothing else. In a region that is_placed the buffers are numbered by address and have ties (code/planner.h). */
typedef struct tn_pbuffer {
  uint32_t region;
  uint32_t first, last;
  uint32_t value;      /* whose size it has; one of those stored in it */
  uint32_t bytes;      /* 1 + slot of its size, known when `region` is entered; or 0 */
  int32_t under, over; /* ties: other buffers, or TN_NO_INDEX */
} tn_pbuffer;

typedef enum tn_pattr_kind { /* as tn_kattr_kind */
                             TN_PATTR_INT,
                             TN_PATTR_FLOAT,
                             TN_PATTR_STR,
                             TN_PATTR_INTS,
                             TN_PATTR_FLOATS,
                             TN_PATTR_STRS,
                             TN_PATTR_TENSOR
} tn_pattr_kind;

typedef struct tn_pattr {
  const char *name;
  uint8_t kind; /* tn_pattr_kind */
  int64_t i;
  double f;
  tn_pspan list; /* INTS: program->ints; FLOATS: program->floats; STRS: program->strings */
  tn_str s;
  uint32_t value; /* TENSOR: a CONST value */
} tn_pattr;

typedef enum tn_pstep_kind {
  TN_STEP_KERNEL,
  TN_STEP_IF,
  TN_STEP_LOOP,
  TN_STEP_SCAN,
  TN_STEP_VIEW,
  TN_STEP_SEQUENCE_MAP
} tn_pstep_kind;

/* INT attribute of a kernel step: a set of bits, the outputs whose shape is only what the model declares. */
#define TN_STEP_DECLARED "declared_shapes"

typedef struct tn_pstep {
  uint8_t kind;
  const char *kernel; /* KERNEL: row of the kernel table */
  const char *label;  /* "node '/enc/0/MatMul' (MatMul)" for messages and profiles */
  tn_pspan in, out;   /* program->operands: value numbers, TN_NO_INDEX = absent. VIEW: one each, for late values */
  tn_pspan attrs;
  tn_pspan regions; /* program->operands: region numbers of a control step. IF: then, else */
  int32_t segment;  /* to run afterwards, or TN_NO_INDEX */
} tn_pstep;

typedef struct tn_pregion {
  tn_pspan params, results; /* program->operands: value numbers */
  tn_pspan steps;           /* program->steps: a contiguous range */
  tn_pspan values;          /* program->values: all values owned by this region, a contiguous range */
  tn_pspan buffers;         /* program->buffers */
  uint32_t segment;         /* to run on entry */
  int32_t parent_step;      /* the control step that owns it, TN_NO_INDEX for region 0 (main) */
  uint8_t is_placed;        /* its buffers have ties: offsets follow from sizes */
} tn_pregion;

/* Gears: shapes known when the program was made. A gear is a row of sizes; a dim of an input takes one of them. */
typedef enum tn_pgear_miss { TN_PGEAR_DYNAMIC, TN_PGEAR_EXACT, TN_PGEAR_PAD } tn_pgear_miss; /* as tn_gear_miss */

typedef struct tn_pgear_dim {
  uint32_t input, axis, column;
} tn_pgear_dim;

/* A file beside the program's own that holds constants. */
typedef struct tn_psource {
  const char *path; /* inside the folder of the program's file; NULL: whoever decodes the program has the file;
                       "": no constant is in it */
  uint64_t hash;    /* of the tn_pextent of the file, when there is a path */
} tn_psource;

typedef struct tn_pextent { /* what the constants in a file extend over, from the first to the end of the last */
  uint64_t hash;            /* of these bytes; 0: no constant is in the file */
  const uint8_t *begin, *end;
} tn_pextent;

typedef struct tn_pio { /* a graph input or output as the user sees it */
  const char *name;
  uint32_t value;
  const char *type_text; /* "f32[N,3,H,W]" */
} tn_pio;

typedef struct tn_program {
  tn_allocator allocator;
  int refs; /* atomic */

  const tn_psymbol *symbols;
  uint32_t n_symbols;
  uint32_t n_slots;
  const tn_shape_ins *code;
  uint32_t n_code;
  const tn_pbind *binds;
  uint32_t n_binds;
  const tn_pcheck *checks;
  uint32_t n_checks;
  const tn_psegment *segments;
  uint32_t n_segments;
  const uint32_t *dim_slots;
  uint32_t n_dim_slots;
  const tn_pvalue *values;
  uint32_t n_values;
  const tn_pbuffer *buffers;
  uint32_t n_buffers;
  const int32_t *operands;
  uint32_t n_operands;
  const tn_pattr *attrs;
  uint32_t n_attrs;
  const int64_t *ints;
  uint32_t n_ints;
  const double *floats;
  uint32_t n_floats;
  const tn_str *strings;
  uint32_t n_strings; /* first the dims of the inputs as text, each with its NUL; then attributes' */
  const tn_pstep *steps;
  uint32_t n_steps;
  const tn_pregion *regions;
  uint32_t n_regions;
  const tn_pio *inputs;
  uint32_t n_inputs;
  const tn_pio *outputs;
  uint32_t n_outputs;

  const tn_pgear_dim *gear_dims; /* by input, then axis */
  uint32_t n_gear_dims;
  const int64_t *gear_sizes; /* n_gears rows of gear_columns; then a row of all outputs' dims for each gear: -1 is what
                                only a run tells. Outputs of no known rank have none */
  uint32_t n_gear_sizes;
  uint32_t n_gears, gear_columns; /* 0: there are none */
  uint32_t gear_miss;             /* tn_pgear_miss */

  /* Weights: CONST values point here. In memory after a compile they are windows on the mapped model files and arena
   * memory: `external` gives the pointer per value. In a decoded program they are inside the blob: `offset` into
   * `weights`; `external` then gives only the strings, and what is in `sources`. Element data of strings are tn_str,
   * bytes = 16 per element. */
  const uint8_t *weights;
  uint64_t weights_bytes;
  const void *const *external; /* n_values pointers or NULL; a NULL entry means `weights` */
  const tn_psource *sources;
  uint32_t n_sources;

  /* What the arrays live in. */
  tn_file *blob; /* decoded from a mapped file, or NULL */
  void *image;
  size_t image_bytes; /* the encoded form, when the program owns it, or NULL */
  void *memory;
  size_t memory_bytes; /* one block from the allocator holding the arrays, or NULL */
  tn_file **files;
  uint32_t n_files; /* kept open for `external`; of a decoded program the files of its sources, NULL where path is "" */
} tn_program;

/* Checks every index, range, order and type, so that running needs no check. INVALID with a sentence. */
TN_MUST_CHECK tn_status tn_program_verify(const tn_program *p, tn_error *err);
/* The same program as one block of bytes from `allocator`, strings of CONST values inside. Equal programs give equal
 * bytes. LIMIT when it is too large for memory. `sources`: one for each of p->files, whose aligned CONST data is not
 * written but said where it is; NULL: everything is written. */
TN_MUST_CHECK tn_status tn_program_encode(const tn_program *p, tn_allocator allocator, const tn_psource *sources,
                                          tn_bytes *out, tn_error *err);
/* The same bytes into a file, without a copy of the weights. */
TN_MUST_CHECK tn_status tn_program_write(const tn_program *p, tn_allocator allocator, const tn_psource *sources,
                                         const char *path, tn_error *err);
/* Untrusted bytes to a verified program, which uses them in place; takes over `file` on success (may be NULL: bytes
 * must then outlive the program). Sources are opened in `folder` and must have their hashes; NULL: there may be none.
 * IO, INVALID with the path of a source. */
TN_MUST_CHECK tn_status tn_program_decode(tn_allocator allocator, tn_bytes bytes, tn_file *file, const char *folder,
                                          tn_program **out, tn_error *err);
/* The same where the caller has the files of the sources, as many and in their order. On success the program owns them
 * (the array itself is copied). */
TN_MUST_CHECK tn_status tn_program_decode_over(tn_allocator allocator, tn_bytes bytes, tn_file *file,
                                               tn_file *const *files, uint32_t n_files, tn_program **out,
                                               tn_error *err);
/* A verified deep copy of a program whose arrays are in someone's arena, with memory of its own. CONST data inside
 * p->files stays there when its elements are aligned and `keeps_files`, other data is copied. On success a copy that
 * keeps files owns them (the array itself is copied); the caller forgets them. */
TN_MUST_CHECK tn_status tn_program_copy(tn_allocator allocator, const tn_program *p, bool keeps_files, tn_program **out,
                                        tn_error *err);
/* Replaces *io by a copy that has all constants in memory of its own. */
TN_MUST_CHECK tn_status tn_program_own(tn_allocator allocator, tn_program **io, tn_error *err);
/* The file of p->files in which the elements of a CONST value lie, aligned; -1: none. *hint is where to look first: 0,
 * then what the last call left. */
int64_t tn_program_find_file(const tn_program *p, uint32_t value, uint32_t *hint);
/* out[i]: of p->files[i]. Each byte of a file is read once at most. */
void tn_program_hash_files(const tn_program *p, tn_pextent *out);
/* Data of a CONST value; never NULL. */
const void *tn_program_data(const tn_program *p, uint32_t value);
void tn_program_retain(tn_program *p);
void tn_program_release(tn_program *p);
/* Text for `tenon dump`: one line per symbol, instruction, value, step. `write` receives pieces. */
void tn_program_print(const tn_program *p, void (*write)(void *arg, const char *text, size_t n), void *arg);

#endif
