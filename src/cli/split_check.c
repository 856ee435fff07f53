/* Parts against the whole. */
#include "cli/split_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/compare.h"
#include "cli/json.h"
#include "cli/npy.h"

enum { CHECK_TRIES = 16 }; /* sizes drawn for a run until one is not refused by a check of the run */

typedef struct check_program {
  tn_program *program;
  tn_session *session;
} check_program;

typedef struct check_name { /* a value that a part may ask for */
  const char *name;
  const tn_tensor *tensor;
} check_name;

typedef struct check_state {
  const tn_split_check *q;
  tn_drawer *drawer;
  check_program whole;
  check_program *parts;
  size_t n_parts;
  check_name *names; /* sorted */
  size_t n_names;
  tn_npy *results; /* of the whole's outputs, what another runner wrote; NULL before */
} check_state;

static int check_open(const char *path, const tn_compile_options *o, check_program *out) {
  tn_report *report = NULL;
  tn_status s = tn_compile_file(path, o, &out->program, &report);
  int status = tn_cli_report(s, report);
  if (status != TN_EXIT_OK) return status;
  report = NULL;
  s = tn_session_create(out->program, NULL, &out->session, &report);
  return tn_cli_report(s, report);
}

static void check_close(check_program *p) {
  tn_session_release(p->session);
  if (p->program) tn_program_free(p->program);
}

static const char *check_path(const check_state *c, const char *file, size_t n) {
  return tn_cli_print("%s/%.*s", c->q->dir, (int)n, file);
}

static int check_open_parts(check_state *c) {
  tn_blob files = {0};
  tn_report *report = NULL;
  const tn_status s = tn_tool_parts(check_path(c, "manifest.json", 13), &files, &report);
  int status = tn_cli_report(s, report);
  for (const char *at = files.text; status == TN_EXIT_OK && at && *at; at += strcspn(at, "\n") + 1) {
    c->parts = tn_cli_grow(c->parts, c->n_parts, sizeof *c->parts);
    c->parts[c->n_parts] = (check_program){0};
    status = check_open(check_path(c, at, strcspn(at, "\n")), NULL, &c->parts[c->n_parts++]);
  }
  tn_blob_free(&files);
  return status;
}

static const char *check_port(const tn_program *p, size_t i, bool is_input) {
  tn_value_info info = {0};
  const tn_status s = is_input ? tn_program_input(p, i, &info) : tn_program_output(p, i, &info);
  return s == TN_OK ? info.name : "";
}

static int check_order(const void *a, const void *b) {
  const check_name *x = a, *y = b;
  return strcmp(x->name, y->name);
}

static void check_add_names(check_state *c, const tn_program *p, bool inputs) {
  for (size_t i = 0; i < (inputs ? tn_program_input_count(p) : tn_program_output_count(p)); i++) {
    c->names = tn_cli_grow(c->names, c->n_names, sizeof *c->names);
    c->names[c->n_names++] = (check_name){check_port(p, i, inputs), NULL};
  }
}

/* Everything that a run names: the model's inputs, the parts' results. */
static void check_collect_names(check_state *c) {
  check_add_names(c, c->whole.program, true);
  for (size_t i = 0; i < c->n_parts; i++) check_add_names(c, c->parts[i].program, false);
  if (c->n_names) qsort(c->names, c->n_names, sizeof *c->names, check_order);
}

static check_name *check_find(const check_state *c, const char *name) {
  const check_name key = {name, NULL};
  return c->n_names ? bsearch(&key, c->names, c->n_names, sizeof *c->names, check_order) : NULL;
}

static void check_set(const check_state *c, const char *name, const tn_tensor *t) {
  check_name *at = check_find(c, name);
  if (at) at->tensor = t;
}

static const tn_tensor *check_get(const check_state *c, const char *name) {
  const check_name *at = check_find(c, name);
  return at ? at->tensor : NULL;
}

static tn_status check_run_whole(check_state *c, const tn_tensor *inputs, tn_report **report) {
  const size_t n = tn_program_input_count(c->whole.program);
  for (size_t i = 0; i < n; i++) {
    const char *name = check_port(c->whole.program, i, true);
    const tn_status s = tn_session_set_input(c->whole.session, name, &inputs[i], report);
    if (s != TN_OK) return s;
    check_set(c, name, &inputs[i]);
  }
  return tn_session_run(c->whole.session, report);
}

static tn_status check_run_part(check_state *c, const check_program *p, tn_report **report) {
  for (size_t i = 0; i < tn_program_input_count(p->program); i++) {
    const char *name = check_port(p->program, i, true);
    const tn_tensor *t = check_get(c, name);
    static const tn_tensor nothing = {.rank = -1};
    const tn_status s = tn_session_set_input(p->session, name, t ? t : &nothing, report);
    if (s != TN_OK) return s;
  }
  const tn_status s = tn_session_run(p->session, report);
  for (size_t i = 0; s == TN_OK && i < tn_program_output_count(p->program); i++)
    check_set(c, check_port(p->program, i, false), tn_session_output(p->session, i));
  return s;
}

static int check_run_parts(check_state *c) {
  for (size_t i = 0; i < c->n_parts; i++) {
    tn_report *report = NULL;
    const tn_status s = check_run_part(c, &c->parts[i], &report);
    const int status = tn_cli_report(s, report);
    if (status == TN_EXIT_OK) continue;
    tn_cli_error("... in part %zu", i);
    return status;
  }
  return TN_EXIT_OK;
}

/* How many outputs differ. */
static int64_t check_compare(const check_state *c) {
  int64_t differ = 0;
  for (size_t i = 0; i < tn_program_output_count(c->whole.program); i++) {
    const char *name = check_port(c->whole.program, i, false);
    const tn_tensor *got = check_get(c, name);
    const char *why =
        got ? tn_compare(got, tn_session_output(c->whole.session, i), (tn_tolerance){1e-4, 1e-5}) : "no part gives it";
    if (!why) continue;
    differ++;
    printf("  output %s: %s\n", name, why);
  }
  return differ;
}

/* --- ONNX Runtime --- */

static const char check_script[] =
    "import json, os, sys\n"
    "import numpy as np, onnxruntime as ort\n"
    "dir, work = sys.argv[1:]\n"
    "manifest = json.load(open(os.path.join(dir, 'manifest.json')))\n"
    "values = {name: np.load(os.path.join(work, '%d.npy' % i)) for i, name in\n"
    "          enumerate(json.load(open(os.path.join(work, 'names.json'))))}\n"
    "for part in manifest['parts']:\n"
    "    s = ort.InferenceSession(os.path.join(dir, part['file']), providers=['CPUExecutionProvider'])\n"
    "    names = [p['name'] for p in part['outputs']]\n"
    "    values.update(zip(names, s.run(names, {i.name: values[i.name] for i in s.get_inputs()})))\n"
    "for i, p in enumerate(manifest['outputs']):\n"
    "    np.save(os.path.join(work, 'out%d.npy' % i), np.ascontiguousarray(values[p['name']]))\n";

static int check_write_inputs(const check_state *c, const tn_tensor *inputs, const char *work) {
  char error[TN_NPY_ERROR];
  FILE *file = fopen(tn_cli_print("%s/names.json", work), "w");
  if (!file) {
    tn_cli_error("cannot write to %s", work);
    return TN_EXIT_FAILED;
  }
  tn_json j = {.out = file};
  tn_json_open(&j, NULL, '[', true);
  for (size_t i = 0; i < tn_program_input_count(c->whole.program); i++) {
    tn_json_text(&j, NULL, check_port(c->whole.program, i, true));
    if (tn_npy_write(tn_cli_print("%s/%zu.npy", work, i), &inputs[i], error) == TN_OK) continue;
    tn_cli_error("%s", error);
    fclose(file);
    return TN_EXIT_FAILED;
  }
  tn_json_close(&j, ']');
  return fclose(file) == 0 ? TN_EXIT_OK : TN_EXIT_FAILED;
}

/* The interpreter is $PYTHON, or python3. */
static int check_spawn(const check_state *c, char *work) {
  const char *const python = getenv("PYTHON");
  char *const argv[] = {tn_cli_print("%s", python && *python ? python : "python3"),
                        tn_cli_print("-c"),
                        tn_cli_print("%s", check_script),
                        tn_cli_print("%s", c->q->dir),
                        work,
                        NULL};
  if (tn_cli_spawn(argv) == 0) return TN_EXIT_OK;
  tn_cli_error("--runner ort: %s with onnxruntime could not run the parts ($PYTHON names another interpreter)",
               argv[0]);
  return TN_EXIT_FAILED;
}

static void check_drop_results(check_state *c) {
  for (size_t i = 0; c->results && i < tn_program_output_count(c->whole.program); i++) tn_npy_drop(&c->results[i]);
  c->results = NULL;
}

static int check_read_outputs(check_state *c, const char *work) {
  char error[TN_NPY_ERROR];
  const size_t n = tn_program_output_count(c->whole.program);
  check_drop_results(c);
  c->results = tn_cli_alloc(n, sizeof *c->results);
  tn_tensor *tensors = tn_cli_alloc(n, sizeof *tensors);
  for (size_t i = 0; i < n; i++) {
    const tn_npy *npy = &c->results[i];
    if (tn_npy_read(tn_cli_print("%s/out%zu.npy", work, i), &c->results[i], error) != TN_OK) {
      tn_cli_error("%s", error);
      return TN_EXIT_FAILED;
    }
    tensors[i] =
        (tn_tensor){.dtype = npy->dtype, .rank = npy->rank, .dims = npy->dims, .data = npy->data, .bytes = npy->bytes};
    check_set(c, check_port(c->whole.program, i, false), &tensors[i]);
  }
  return TN_EXIT_OK;
}

static void check_remove(const check_state *c, const char *work) {
  for (size_t i = 0; i < tn_program_input_count(c->whole.program); i++) unlink(tn_cli_print("%s/%zu.npy", work, i));
  for (size_t i = 0; i < tn_program_output_count(c->whole.program); i++) unlink(tn_cli_print("%s/out%zu.npy", work, i));
  unlink(tn_cli_print("%s/names.json", work));
  rmdir(work);
}

static int check_run_ort(check_state *c, const tn_tensor *inputs) {
  char *work = tn_cli_temporary(true);
  if (!work) return TN_EXIT_FAILED;
  int status = check_write_inputs(c, inputs, work);
  if (status == TN_EXIT_OK) status = check_spawn(c, work);
  if (status == TN_EXIT_OK) status = check_read_outputs(c, work);
  check_remove(c, work);
  return status;
}

/* --- runs --- */

/* Draws sizes until the whole model runs at them. *out_inputs NULL: it never did. */
static int check_draw(check_state *c, int64_t run, const tn_tensor **out_inputs, const char **out_sizes) {
  for (int64_t i = 0; i < CHECK_TRIES; i++) {
    tn_report *report = NULL;
    tn_status s = tn_drawer_next(c->drawer, (uint64_t)((c->q->seed * 1000003 + run) * CHECK_TRIES + i), out_inputs,
                                 out_sizes, &report);
    if (s == TN_OK) {
      tn_report_release(report);
      s = check_run_whole(c, *out_inputs, &report);
    }
    if ((s != TN_MISMATCH && s != TN_INVALID) || i + 1 == CHECK_TRIES) return tn_cli_report(s, report);
    tn_report_release(report);
  }
  return TN_EXIT_FAILED;
}

static int check_one(check_state *c, int64_t run) {
  const tn_tensor *inputs;
  const char *sizes;
  int status = check_draw(c, run, &inputs, &sizes);
  if (status != TN_EXIT_OK) return status;
  status = strcmp(c->q->runner, "ort") == 0 ? check_run_ort(c, inputs) : check_run_parts(c);
  if (status != TN_EXIT_OK) return status;
  const int64_t differ = check_compare(c);
  printf("run %" PRId64 ": %s: %zu parts, %s\n", run + 1, *sizes ? sizes : "fixed sizes", c->n_parts,
         differ ? "differ" : "equal");
  return differ ? TN_EXIT_FAILED : TN_EXIT_OK;
}

int tn_split_check_run(const tn_split_check *q) {
  check_state c = {.q = q};
  tn_report *report = NULL;
  const tn_status made = tn_drawer_create(q->model, q->compile, q->gear, &c.drawer, &report);
  int status = tn_cli_report(made, report);
  if (status == TN_EXIT_OK) status = check_open(q->model, q->compile, &c.whole);
  if (status == TN_EXIT_OK) status = check_open_parts(&c);
  if (status == TN_EXIT_OK) check_collect_names(&c);
  for (int64_t run = 0; status == TN_EXIT_OK && run < q->runs; run++) status = check_one(&c, run);
  check_drop_results(&c);
  for (size_t i = 0; i < c.n_parts; i++) check_close(&c.parts[i]);
  check_close(&c.whole);
  tn_drawer_release(c.drawer);
  return status;
}
