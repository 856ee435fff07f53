/* Tenon: compile an ONNX model once, run it at any shape.
 *
 *     tn_program *p;
 *     tn_report *r;
 *     if (tn_compile_file("model.onnx", NULL, &p, &r) != TN_OK) fprintf(stderr, "%s", tn_report_text(r));
 *     tn_session *s;
 *     tn_session_create(p, NULL, &s, NULL);
 *     tn_session_set_input(s, "x", &(tn_tensor){.dtype = TN_F32, .rank = 4, .dims = dims, .data = pixels}, NULL);
 *     tn_session_run(s, NULL);
 *     const tn_tensor *y = tn_session_output(s, 0);
 *
 * Ownership: what a `create` or `compile` or `load` function gives is given back by its `release` or, a program, `free`
 * function; everything else returned is borrowed from the object it came from. A program is immutable and may be used
 * by any number of threads; a session, and a report, by one thread at a time. No function prints, exits or aborts.
 *
 * Every function that can fail returns a tn_status. Where it takes `tn_report **out_report`, passing non-NULL gives a
 * report of errors and warnings (also on success; release it), which is NULL when there is nothing to say; NULL asks
 * for none. Sizes are in elements unless a name says bytes. Tensors are contiguous, row-major, little-endian. */
#ifndef TENON_TENON_H
#define TENON_TENON_H

#include <stddef.h>
#include <stdint.h>

#include "tenon/dtype.h"
#include "tenon/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TN_VERSION_MAJOR 0
#define TN_VERSION_MINOR 1
#define TN_VERSION_PATCH 0

#define TN_API __attribute__((visibility("default")))

typedef struct tn_program tn_program;
typedef struct tn_session tn_session;
typedef struct tn_report tn_report;

typedef enum tn_value_kind {
  TN_KIND_TENSOR = 0,
  TN_KIND_SEQUENCE = 1,
  TN_KIND_OPTIONAL = 2,
  TN_KIND_MAP = 3 /* two items: the keys and the values, tensors of rank 1 and one length */
} tn_value_kind;

typedef struct tn_string { /* an element of a string tensor; not NUL-terminated */
  const char *ptr;
  size_t len;
} tn_string;

typedef struct tn_tensor {
  tn_value_kind kind;
  tn_dtype dtype;
  int rank;
  const int64_t *dims;
  const void *data; /* elements; 2- and 4-bit types packed, first element in the low bits; strings: tn_string */
  size_t bytes;     /* of data; as input 0 = as many as dtype and dims need */
  const struct tn_tensor *items; /* SEQUENCE, OPTIONAL: the elements; MAP: keys, values */
  size_t n_items;
} tn_tensor;

/* The library's version, "0.1.0". */
TN_API const char *tn_version(void);
TN_API const char *tn_status_name(tn_status s);
TN_API const char *tn_dtype_text(tn_dtype d); /* "f32" */

/* --- reports --- */
TN_API const char *tn_report_text(
    const tn_report *r); /* all messages, one or more lines each; "" when none, or r NULL */
TN_API size_t tn_report_count(const tn_report *r);
/* Message i: severity 'e' or 'w', status (TN_OK for warnings), the node's name ("" when there is none), the sentence.
 */
TN_API void tn_report_get(const tn_report *r, size_t i, char *severity, tn_status *status, const char **node,
                          const char **text);
TN_API void tn_report_release(tn_report *r);

/* --- compiling --- */
/* What a run does whose shape is no gear. */
typedef enum tn_gear_miss {
  TN_GEAR_DYNAMIC, /* the program serves it as any other */
  TN_GEAR_EXACT,   /* MISMATCH, with the list of gears */
  TN_GEAR_PAD      /* zeros up to the smallest gear that covers it; results are cut to the size asked for */
} tn_gear_miss;

typedef struct tn_compile_options {
  size_t size;              /* sizeof(tn_compile_options): lets the struct grow */
  const char *const *knobs; /* "name=value" strings */
  size_t n_knobs;
  const char *const *assume; /* facts: "S % 8 == 0", "1 <= B <= 64" */
  size_t n_assume;
  /* Shapes known beforehand (doc/gears.md has the grammar); NULL: not said. */
  const char *input_shape;  /* "x:-1,3,-1,-1;y:8": sizes of inputs by name, -1 for any */
  const char *batch_sizes;  /* "1,4,8": gears; one list at most: */
  const char *image_sizes;  /* "224,224;448,448" */
  const char *gear_dims;    /* "1,32;1,64": a size for each -1 of input_shape */
  const char *input_format; /* "NCHW" (default), "NHWC", "ND" */
  const char *gear_miss;    /* a shape that is no gear: "dynamic" (default: it runs), "exact" (MISMATCH), "pad" */
} tn_compile_options;

/* `path`: ONNX file (or a .tnp program, which is then loaded). External data is read from the model's folder only. */
TN_API tn_status tn_compile_file(const char *path, const tn_compile_options *o, tn_program **out,
                                 tn_report **out_report);
/* A model's bytes may go after the call: the program has copies of the weights. Those of a .tnp program, which is used
 * in place, must stay until the program is released. External data is refused. */
TN_API tn_status tn_compile_memory(const void *bytes, size_t n, const tn_compile_options *o, tn_program **out,
                                   tn_report **out_report);
TN_API tn_status tn_program_save(const tn_program *p, const char *path, tn_report **out_report);
typedef enum tn_weights {
  TN_WEIGHTS_EMBED,    /* the file holds all constants */
  TN_WEIGHTS_REFERENCE /* those that lie aligned in files which are mapped (the model, its external data) stay
                          there: path, place and hash are written. INVALID when such a file is not in the folder
                          of `path` or below it */
} tn_weights;
TN_API tn_status tn_program_save_as(const tn_program *p, const char *path, tn_weights weights, tn_report **out_report);
/* Weights that are referred to are read once, to compare their hash: IO or INVALID with the path of a file that is
 * missing, too short or another one. */
TN_API tn_status tn_program_load_file(const char *path, tn_program **out, tn_report **out_report);
TN_API void tn_program_add_ref(tn_program *p);
TN_API void tn_program_free(tn_program *p); /* gives back one reference */

typedef struct tn_value_info {
  const char *name;
  tn_value_kind kind;
  tn_dtype dtype;        /* NONE where it is not one type */
  int rank;              /* -1: known only at run time */
  const char *type_text; /* "f32[N,3,H//2,W//2]" */
} tn_value_info;
TN_API size_t tn_program_input_count(const tn_program *p);
TN_API size_t tn_program_output_count(const tn_program *p);
TN_API tn_status tn_program_input(const tn_program *p, size_t i, tn_value_info *out);
TN_API tn_status tn_program_output(const tn_program *p, size_t i, tn_value_info *out);
/* Dim j of input i as text ("N", "3"); NULL when there is none. */
TN_API const char *tn_program_input_dim(const tn_program *p, size_t i, int j);
TN_API size_t tn_program_symbol_count(const tn_program *p);
TN_API tn_status tn_program_symbol(const tn_program *p, size_t i, const char **name, int64_t *min, int64_t *max,
                                   int64_t *multiple_of);
/* Gears of the program, numbered from 0 in the order they were written. Dims of an input or output in a gear: -1 where
 * only a run tells them. `dims` has room for 16; rank -1 when it is not known. */
TN_API size_t tn_program_gear_count(const tn_program *p);
TN_API tn_status tn_program_gear_input(const tn_program *p, size_t gear, size_t i, int64_t *dims, int *rank);
TN_API tn_status tn_program_gear_output(const tn_program *p, size_t gear, size_t i, int64_t *dims, int *rank);

/* --- running --- */
/* Threads that sessions share. Without one of its own, a session uses the process's: one pool for each number of
 * threads that is asked for. While one session computes with a pool, the others that have it compute alone. After a
 * fork the child's sessions compute alone too; those it creates then have threads of their own. */
typedef struct tn_threads tn_threads;
TN_API tn_status tn_threads_create(int threads, tn_threads **out, tn_report **out_report);
TN_API void tn_threads_release(tn_threads *t); /* sessions keep what they need */

typedef struct tn_session_options {
  size_t size;             /* sizeof(tn_session_options) */
  int threads;             /* 0: knob `threads`, else as many as the process may use */
  uint64_t seed;           /* of random operators */
  tn_threads *own_threads; /* instead of the process's; NULL: those */
  int64_t max_memory;      /* bytes beside the weights, else LIMIT; 0: knob `max_memory_mib` */
  int64_t kept_shapes;     /* bound shapes kept for when they return; 0: knob `kept_shapes`, < 0: none */
  int check_finite;        /* a step whose result has a NaN or an infinity ends the run: MISMATCH names it */
} tn_session_options;

TN_API tn_status tn_session_create(tn_program *p, const tn_session_options *o, tn_session **out,
                                   tn_report **out_report);
TN_API void tn_session_release(tn_session *s);
/* Borrows t's dims (copied) and data (not copied: must stay until the last run that uses it). */
TN_API tn_status tn_session_set_input(tn_session *s, const char *name, const tn_tensor *t, tn_report **out_report);
TN_API tn_status tn_session_set_symbol(tn_session *s, const char *name, int64_t value, tn_report **out_report);
/* A shape met for the first time costs an evaluation of sizes; the same shape again costs nothing. After an error the
 * session may be used again. */
TN_API tn_status tn_session_run(tn_session *s, tn_report **out_report);
/* State: after each run the output is copied and is the input of the next one (of a cache, of a filter). The first
 * run's input is set as usual, and may be set again before any run. output NULL: no longer. MISMATCH: the types do not
 * allow it. A size that the model does not allow is an error of the next run. */
TN_API tn_status tn_session_link(tn_session *s, const char *output, const char *input, tn_report **out_report);
/* The output is made in `data`, which must stay while it is set, and be aligned to its elements. Where it cannot be
 * made there, because its size is known too late or because `data` overlaps an input, it is copied at the end of the
 * run. MISMATCH with the needed size when `bytes` are too few. data NULL: in the session's memory again. */
TN_API tn_status tn_session_set_output(tn_session *s, const char *name, void *data, size_t bytes,
                                       tn_report **out_report);
/* From any thread: ends the run in progress, or the next when there is none, before its next step: CANCELLED. */
TN_API void tn_session_cancel(tn_session *s);
/* Runs that take longer end with CANCELLED. Nanoseconds from the beginning of each run; 0: none. */
TN_API void tn_session_set_deadline(tn_session *s, int64_t ns);
/* Called by the running thread before each step of the model's main graph; not 0 cancels the run. NULL: nobody. */
typedef int (*tn_progress_fn)(void *arg, size_t steps_done, size_t steps);
TN_API void tn_session_set_progress(tn_session *s, tn_progress_fn progress, void *arg);
/* Gives back the memory that the next run can make again. Outputs are no longer valid. */
TN_API void tn_session_trim(tn_session *s);
/* From now on a run must be in this gear, else MISMATCH; -1: in any. */
TN_API tn_status tn_session_set_gear(tn_session *s, int gear, tn_report **out_report);
TN_API int tn_session_gear(const tn_session *s); /* that the last run was in, or was padded to; -1: in none */
/* Valid until the next run or release; NULL before the first successful run or when i is out of range. */
TN_API const tn_tensor *tn_session_output(tn_session *s, size_t i);

typedef struct tn_session_stats {
  size_t size;
  int64_t binds, runs;
  int64_t arena_bytes; /* planned buffers at the bound shape */
  int64_t live_bytes;  /* largest sum of live buffers: no plan can need less */
  int64_t total_bytes; /* all memory of the session */
  int64_t bind_hits;   /* binds of a shape that was kept */
} tn_session_stats;
TN_API void tn_session_get_stats(const tn_session *s, tn_session_stats *out);

/* --- other libraries' tensors: DLPack, declared in tenon/dlpack.h --- */
struct DLManagedTensor;
/* A tensor over m's data, in place where m is dense, else a copy. Takes m over when the
 * status is OK; tn_tensor_release gives it back. */
TN_API tn_status tn_tensor_from_dlpack(struct DLManagedTensor *m, tn_tensor **out, tn_report **out_report);
TN_API void tn_tensor_release(tn_tensor *t); /* of tn_tensor_from_dlpack; NULL is fine */
/* t's data for others, in place. Whoever takes it calls its deleter, which calls release(arg) when that is not NULL:
 * t's data must stay until then. */
TN_API tn_status tn_tensor_to_dlpack(const tn_tensor *t, void (*release)(void *arg), void *arg,
                                     struct DLManagedTensor **out, tn_report **out_report);

#ifdef __cplusplus
}
#endif
#endif
