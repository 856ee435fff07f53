/* Runs the pipeline over one model. A compilation owns the context and everything in it. */
#ifndef TN_DRIVER_COMPILE_H
#define TN_DRIVER_COMPILE_H

#include "driver/cache.h"
#include "driver/pipeline.h"
#include "onnx/onnx.h"
#include "tenon/tenon.h"

typedef struct tn_compile_request {
  tn_allocator allocator;
  const char *path;                  /* the model's file; or NULL and: */
  tn_bytes bytes;                    /* the model itself; external data is refused */
  const tn_compile_options *options; /* may be NULL */
  const char *passes;                /* comma list; NULL: all. What a pass needs is run before it */
  const char *stop_after;            /* name of a pass or NULL */
  const char *dump_dir;              /* NN-pass.tn after each pass, or NULL */
  int64_t max_edits;                 /* < 0: no limit */
  bool keeps_model;                  /* the model stays with the graph, to be written back */
  bool keeps_unknown;                /* operators that nobody knows stay, as `opaque`: to infer, not to run */
  bool keep_operands;                /* no result is written over an operand */
  bool locations;                    /* in dumps */
  bool is_cached;                    /* the knob `cache` counts */
  int64_t gear;                      /* 1 + the gear whose sizes the inputs have; 0: none is chosen */
} tn_compile_request;

typedef struct tn_pass_time {
  const char *pass;
  int64_t ns, edits;
} tn_pass_time;

enum { TN_MAX_PASSES_RUN = 64 };

typedef struct tn_compilation {
  tn_ctx ctx;
  tn_error error; /* of what happened outside the context */
  tn_bytes bytes;
  bool is_program; /* the file is a .tnp: nothing was compiled */
  tn_cache cache;
  tn_program *cached;   /* found there: nothing was compiled */
  tn_onnx_model *model; /* NULL when the input was text, or when it was not to be kept */
  tn_graph *graph;
  tn_pass pass;
  tn_pass_time times[TN_MAX_PASSES_RUN];
  int n_times;
} tn_compilation;

/* Fills *c, which the caller drops whatever the status. A .tnp file is only recognised (is_program). */
TN_MUST_CHECK tn_status tn_compilation_run(tn_compilation *c, const tn_compile_request *request);
void tn_compilation_drop(tn_compilation *c);
tn_report *tn_compilation_report(const tn_compilation *c); /* its errors and warnings so far */

/* Compile, or load when the file is a program. The compilation stays alive when `keep` (then the caller drops it). */
TN_MUST_CHECK tn_status tn_compile(const tn_compile_request *request, tn_compilation *keep, tn_program **out,
                                   tn_report **out_report);
int64_t tn_compile_runs(void);      /* by this process so far; what the cache had does not count */
bool tn_is_program(tn_bytes bytes); /* does it begin as a .tnp file? */

#endif
