/* What the command line uses beyond tenon.h. Not part of the shared library and free to change. Text results are
 * allocated by the library and freed with tn_blob_free. */
#ifndef TENON_UNSTABLE_H
#define TENON_UNSTABLE_H

#include "tenon/tenon.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tn_blob {
  char *text; /* NUL-terminated for convenience */
  size_t len;
} tn_blob;
void tn_blob_free(tn_blob *b);

/* `tenon info`: JSON or lines for people, straight from the file, weights untouched. */
tn_status tn_tool_info(const char *path, int json, tn_blob *out, tn_report **out_report);
/* `tenon infer`: out_path NULL = no file; json: 0 = a table, 1 = JSON as in doc, 2 = with the known elements. */
tn_status tn_tool_infer(const char *path, const tn_compile_options *o, int json, const char *out_path, tn_blob *out,
                        tn_report **out_report);
/* `tenon infer --check`: `runs` runs of the oracle at random valid sizes, every value against what was inferred of it.
 * *out_failed := 1 when one differs. LIMIT when no valid sizes were found. */
tn_status tn_tool_check(const char *path, const tn_compile_options *o, int64_t runs, int64_t seed, int json,
                        int *out_failed, tn_blob *out, tn_report **out_report);
/* `tenon contract`: which inputs are valid. */
tn_status tn_tool_contract(const char *path, const tn_compile_options *o, int json, tn_blob *out,
                           tn_report **out_report);
/* `tenon why`: how the shape of a value was derived, or what stopped it. */
tn_status tn_tool_why(const char *path, const tn_compile_options *o, const char *value, tn_blob *out,
                      tn_report **out_report);
/* `tenon cost`: operations and bytes as formulas, and evaluated where `dims` ("B=8,S=128", may be NULL) gives every
 * symbol. max_memory > 0: the largest `vary` whose live bytes fit. form: 0 lines, long formulas by their kind; 1 JSON;
 * 2 lines with whole formulas. */
tn_status tn_tool_cost(const char *path, const tn_compile_options *o, const char *dims, const char *vary,
                       int64_t max_memory, int form, tn_blob *out, tn_report **out_report);
/* `tenon split`: the parts of a model. */
enum { TN_TOOL_SPLIT_ALL_DYNAMIC = -1, TN_TOOL_SPLIT_BY_COST = -2 };
typedef struct tn_tool_split_options {
  size_t size;
  const char *mode; /* "paths", "known-first", "order"; NULL: paths */
  int symbolic_is_dynamic;
  int64_t min_static_ops;           /* or TN_TOOL_SPLIT_* */
  const char *const *force_dynamic; /* patterns of nodes' names */
  size_t n_force_dynamic;
  const char *target;         /* file with engines, or NULL */
  const char *const *exclude; /* engines */
  size_t n_exclude;
  int64_t n_stages;       /* > 0: as many of equal work */
  const char *stage_file; /* or a file with lines "STAGE PATTERN"; NULL: by metadata */
  const char *dims;       /* sizes for n_stages: "B=8,S=128" */
  int nodes, json;        /* list the nodes; print JSON */
  int graph;              /* print the graph with its parts as calls instead */
  int dot;                /* print Graphviz's language instead */
  const char *dir;        /* write the parts as models there, and manifest.json */
  int64_t gear;           /* 1 + the gear of `compile` whose sizes the inputs have; 0: `compile` has no gears */
  const tn_compile_options *compile;
} tn_tool_split_options;
tn_status tn_tool_split(const char *path, const tn_tool_split_options *o, tn_blob *out, tn_report **out_report);
/* `tenon dump --plan`: buffers, lives, sizes, offsets; numbers where `dims` (may be NULL) gives every symbol. svg: a
 * file for the drawing, or NULL. */
tn_status tn_tool_plan(const char *path, const tn_compile_options *o, const char *dims, const char *svg, tn_blob *out,
                       tn_report **out_report);
/* Inputs of a model at random valid sizes; seed % 4 is the kind of contents: random, integers 0 or 1, zeros, ones. The
 * tensors, in the order of its inputs, and the text ("N = 2, S = 5") are the drawer's until the next call. `gear` as in
 * tn_tool_split_options. */
typedef struct tn_drawer tn_drawer;
tn_status tn_drawer_create(const char *path, const tn_compile_options *o, int64_t gear, tn_drawer **out,
                           tn_report **out_report);
tn_status tn_drawer_next(tn_drawer *d, uint64_t seed, const tn_tensor **out_inputs, const char **out_sizes,
                         tn_report **out_report);
void tn_drawer_release(tn_drawer *d);
/* The parts of a model as ONNX models in memory. A part may be taken out (what it gave becomes an input of the rest
 * where it is used) and another put in, by the names of values; then the rest is compiled as one model. Strings and
 * bytes are the list's until it changes. One thread at a time. */
typedef struct tn_parts tn_parts;
typedef struct tn_part_info {
  const char *name, *kind, *engine; /* kind: "static", "symbolic", "dynamic" */
  int stage;                        /* -1: none */
  size_t n_nodes, n_inputs, n_outputs;
  const char *flops; /* a formula over the symbols */
  const void *model; /* ModelProto */
  size_t model_bytes;
} tn_part_info;
typedef struct tn_part_port {
  const char *name, *type_text; /* "f32[N,H//2]" */
  const char *bytes;            /* a formula; NULL: not known */
} tn_part_port;
tn_status tn_parts_create(const char *path, const tn_tool_split_options *o, tn_parts **out, tn_report **out_report);
void tn_parts_release(tn_parts *p);
size_t tn_parts_count(const tn_parts *p);
tn_status tn_parts_get(const tn_parts *p, size_t i, tn_part_info *out);
size_t tn_parts_find(const tn_parts *p, const char *name); /* tn_parts_count when there is none */
tn_status tn_parts_input(const tn_parts *p, size_t i, size_t j, tn_part_port *out);
tn_status tn_parts_output(const tn_parts *p, size_t i, size_t j, tn_part_port *out);
tn_status tn_parts_remove(tn_parts *p, const char *name, tn_report **out_report);
/* Its bytes are copied. INVALID when the name is taken. */
tn_status tn_parts_add(tn_parts *p, const char *name, const void *model, size_t bytes, tn_report **out_report);
tn_status tn_parts_compile(const tn_parts *p, const tn_compile_options *o, tn_program **out, tn_report **out_report);
/* The files of a manifest's parts, a line each, in the order they run. */
tn_status tn_tool_parts(const char *path, tn_blob *out, tn_report **out_report);
/* `tenon opt` and `tenon dump`: input is ONNX or text IR; passes is a comma list or NULL for the whole pipeline up to
 * `stop_after` (NULL = all); output is text IR, or the program's listing when `program`. dump_dir: NN-pass.tn files. */
typedef struct tn_tool_opt_options {
  size_t size;
  const char *passes, *stop_after, *dump_dir;
  int64_t stop_after_edits; /* < 0: no limit */
  int program, locations, time_passes, list_passes;
  const tn_compile_options *compile;
} tn_tool_opt_options;
tn_status tn_tool_opt(const char *path, const tn_tool_opt_options *o, tn_blob *out, tn_report **out_report);
tn_status tn_tool_ops(int json, int markdown, tn_blob *out); /* `tenon ops` */
tn_status tn_tool_knobs(int json, tn_blob *out, tn_report **out_report);

/* Oracle comparison: compiles `path` keeping the graph, and after each step of a run compares it with the operator's
 * own double-precision evaluation on the same operands. */
typedef struct tn_oracle tn_oracle;
tn_status tn_oracle_create(const char *path, const tn_compile_options *o, const tn_session_options *so,
                           tn_session **out_session, tn_oracle **out, tn_report **out_report);
typedef struct tn_divergence {
  size_t steps;         /* compared */
  size_t failed;        /* beyond their operator's accuracy class */
  const char *first;    /* "node '/a' (Conv): element 12 is 1.5, oracle 1.25" or NULL */
  double max_abs_error; /* over all float outputs of all steps */
} tn_divergence;
void tn_oracle_result(const tn_oracle *o, tn_divergence *out);
void tn_oracle_release(tn_oracle *o); /* before its session */

/* Per-step times: enabling costs a clock read per step. */
tn_status tn_session_profile(tn_session *s, int on);
typedef struct tn_profile_row {
  const char *label, *kernel; /* node and kernel */
  int64_t calls, ns;
} tn_profile_row;
size_t tn_session_profile_rows(const tn_session *s, const tn_profile_row **out);
/* Called after each kernel step with its beginning (tn_clock_ns) and time; NULL: nobody. */
typedef void (*tn_step_fn)(void *arg, const char *label, const char *kernel, int64_t begin_ns, int64_t ns);
void tn_session_trace(tn_session *s, tn_step_fn fn, void *arg);

/* Tensor files of ONNX's test data: TensorProto, SequenceProto, OptionalProto by the kind of the value they are for. */
typedef struct tn_test_tensor tn_test_tensor;
tn_status tn_test_tensor_read(const char *path, tn_value_kind kind, tn_test_tensor **out, const tn_tensor **out_tensor,
                              tn_report **out_report);
void tn_test_tensor_release(tn_test_tensor *t);

/* An expression in symbols ("2*S + 1") evaluated for the n names and values. INVALID with the name of the first symbol
 * that is not among them in `missing` (cut to `room` bytes with its NUL); `missing` is "" after any other failure. */
tn_status tn_tool_eval(const char *expr, const char *const *names, const int64_t *values, size_t n, int64_t *out,
                       char *missing, size_t room);

/* Element access for any type, as double / int64 (complex: real part). */
double tn_tensor_f64(const tn_tensor *t, int64_t i);
int64_t tn_tensor_i64(const tn_tensor *t, int64_t i);
void tn_tensor_store_f64(tn_dtype d, void *data, int64_t i, double v);
size_t tn_tensor_bytes(tn_dtype d, int64_t count); /* 0 on overflow */
int tn_status_exit_code(tn_status s);
int64_t tn_clock_ns(void);
int64_t tn_compile_count(void); /* compiles done by this process: tests show that one serves all shapes */

#ifdef __cplusplus
}
#endif
#endif
