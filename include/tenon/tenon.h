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
 * report of errors and warnings (also on success; release it); NULL asks for none. Sizes are in elements unless a name
 * says bytes. Tensors are contiguous, row-major, little-endian. */
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
typedef struct tn_compile_options {
  size_t size;              /* sizeof(tn_compile_options): lets the struct grow */
  const char *const *knobs; /* "name=value" strings */
  size_t n_knobs;
  const char *const *assume; /* facts: "S % 8 == 0", "1 <= B <= 64" */
  size_t n_assume;
} tn_compile_options;

/* `path`: ONNX file (or a .tnp program, which is then loaded). External data is read from the model's folder only. */
TN_API tn_status tn_compile_file(const char *path, const tn_compile_options *o, tn_program **out,
                                 tn_report **out_report);
/* A model's bytes may go after the call: the program has copies of the weights. Those of a .tnp program, which is used
 * in place, must stay until the program is released. External data is refused. */
TN_API tn_status tn_compile_memory(const void *bytes, size_t n, const tn_compile_options *o, tn_program **out,
                                   tn_report **out_report);
TN_API tn_status tn_program_save(const tn_program *p, const char *path, tn_report **out_report);
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

/* --- running --- */
typedef struct tn_session_options {
  size_t size;   /* sizeof(tn_session_options) */
  int threads;   /* 0: as many as the process may use */
  uint64_t seed; /* of random operators */
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
/* Valid until the next run or release; NULL before the first successful run or when i is out of range. */
TN_API const tn_tensor *tn_session_output(tn_session *s, size_t i);

typedef struct tn_session_stats {
  size_t size;
  int64_t binds, runs;
  int64_t arena_bytes; /* planned buffers at the bound shape */
  int64_t live_bytes;  /* largest sum of live buffers: no plan can need less */
  int64_t total_bytes; /* all memory of the session */
} tn_session_stats;
TN_API void tn_session_get_stats(const tn_session *s, tn_session_stats *out);

#ifdef __cplusplus
}
#endif
#endif
