/* Finding and running ONNX backend tests. */
#include "cli/case.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/types.h"

enum { CASE_MAX_DEPTH = 16, CASE_MAX_FILES = 10000 };

const char *tn_verdict_text(tn_verdict v) {
  static const char *const texts[TN_N_VERDICTS] = {"pass", "fail", "unsupported"};
  return texts[v];
}

/* Finding. */

static bool case_exists(const char *path, bool want_dir) {
  struct stat info;
  return stat(path, &info) == 0 && (S_ISDIR(info.st_mode) != 0) == want_dir;
}

static int case_order(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

/* Names of the folders in `dir` that begin with `prefix`, sorted. */
static bool case_folders(const char *dir, const char *prefix, tn_texts *out) {
  DIR *const d = opendir(dir);
  *out = (tn_texts){0};
  if (!d) return false;
  for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
    if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, strlen(prefix)) != 0) continue;
    if (!case_exists(tn_cli_print("%s/%s", dir, e->d_name), true)) continue;
    out->items = tn_cli_grow(out->items, out->n, sizeof(char *));
    out->items[out->n++] = tn_cli_print("%s", e->d_name);
  }
  closedir(d);
  if (out->n) qsort(out->items, out->n, sizeof(char *), case_order);
  return true;
}

static void case_walk(tn_cases *cases, const char *path, const char *name, int depth) {
  if (case_exists(tn_cli_print("%s/model.onnx", path), false)) {
    cases->items = tn_cli_grow(cases->items, cases->n, sizeof *cases->items);
    cases->items[cases->n++] = (tn_case){.path = path, .name = name};
    return;
  }
  tn_texts folders;
  if (depth >= CASE_MAX_DEPTH || !case_folders(path, "", &folders)) return;
  for (size_t i = 0; i < folders.n; i++) {
    const char *const f = folders.items[i];
    case_walk(cases, tn_cli_print("%s/%s", path, f), *name ? tn_cli_print("%s/%s", name, f) : f, depth + 1);
  }
}

int tn_cases_find(tn_cases *cases, const char *dir) {
  const size_t before = cases->n;
  char *const path = tn_cli_print("%s", dir);
  for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--) path[n - 1] = 0;
  if (!case_exists(path, true)) {
    tn_cli_error("%s: not a folder", dir);
    return tn_status_exit_code(TN_IO);
  }
  const char *const slash = strrchr(path, '/');
  const bool is_case = case_exists(tn_cli_print("%s/model.onnx", path), false);
  case_walk(cases, path, !is_case ? "" : slash ? slash + 1 : path, 0);
  if (cases->n > before) return TN_EXIT_OK;
  tn_cli_error("%s: no folder in it holds a model.onnx", dir);
  return tn_status_exit_code(TN_INVALID);
}

/* Running. */

static void case_end(tn_case *c, tn_verdict v, const char *why) {
  char *const line = tn_cli_print("%s", why);
  for (char *s = line; *s; s++)
    if (*s == '\n') *s = s[1] ? ' ' : 0;
  c->verdict = v;
  c->why = line;
}

/* The first error's line, without the model's path. */
static const char *case_message(const tn_case *c, const tn_report *r) {
  const char *line = tn_report_text(r);
  while (*line == ' ' || strncmp(line, "warning: ", 9) == 0) {
    line += strcspn(line, "\n");
    line += *line == '\n';
  }
  const char *const path = tn_cli_print("%s/model.onnx: ", c->path);
  if (strncmp(line, path, strlen(path)) == 0) line += strlen(path);
  return tn_cli_print("%.*s", (int)strcspn(line, "\n"), line);
}

/* True when s is OK; else the verdict comes from it and the report, which is released. */
static bool case_go_on(tn_case *c, tn_status s, tn_report *r, const char *what) {
  const char *const message = s == TN_OK ? "" : case_message(c, r);
  tn_report_release(r);
  if (s == TN_UNSUPPORTED)
    case_end(c, TN_VERDICT_UNSUPPORTED, message);
  else if (s != TN_OK)
    case_end(c, TN_VERDICT_FAIL, tn_cli_print("%s: %s: %s", what, tn_status_name(s), message));
  return s == TN_OK;
}

static const char *case_file(const char *set, const char *stem, size_t k) {
  const char *const path = tn_cli_print("%s/%s_%zu.pb", set, stem, k);
  return case_exists(path, false) ? path : NULL;
}

/* Reads DIR/STEM_0.pb, STEM_1.pb... into files and tensors; one per port of the program at most. */
typedef struct case_files {
  size_t n;
  tn_test_tensor **files;
  tn_tensor *tensors;
} case_files;

static bool case_read(tn_case *c, const tn_program *p, bool is_input, const char *set, case_files *out) {
  const char *const stem = is_input ? "input" : "output";
  const size_t n_ports = is_input ? tn_program_input_count(p) : tn_program_output_count(p);
  size_t n = 0;
  while (n < CASE_MAX_FILES && case_file(set, stem, n)) n++;
  if (n > n_ports || (!is_input && n != n_ports)) {
    case_end(c, TN_VERDICT_FAIL, tn_cli_print("%s: %zu %s files for %zu %ss", set, n, stem, n_ports, stem));
    return false;
  }
  out->files = tn_cli_alloc(n, sizeof *out->files);
  out->tensors = tn_cli_alloc(n, sizeof *out->tensors);
  for (size_t k = 0; k < n; k++) {
    tn_value_info info = {0};
    tn_report *report = NULL;
    const tn_tensor *t = NULL;
    tn_status s = is_input ? tn_program_input(p, k, &info) : tn_program_output(p, k, &info);
    if (s == TN_OK) s = tn_test_tensor_read(case_file(set, stem, k), info.kind, &out->files[k], &t, &report);
    if (!case_go_on(c, s, report, tn_cli_print("%s_%zu.pb", stem, k))) return false;
    out->n = k + 1;
    out->tensors[k] = *t;
    /* Older test data hold bf16 as the uint16 that numpy gave. */
    if (t->dtype == TN_U16 && info.dtype == TN_BF16) out->tensors[k].dtype = TN_BF16;
  }
  return true;
}

static void case_release(case_files *f) {
  for (size_t i = 0; i < f->n; i++) tn_test_tensor_release(f->files[i]);
}

static bool case_run_session(tn_case *c, const tn_program *p, tn_session *s, const case_files *in) {
  for (size_t k = 0; k < in->n; k++) {
    tn_value_info info = {0};
    tn_report *report = NULL;
    tn_status status = tn_program_input(p, k, &info);
    if (status == TN_OK) status = tn_session_set_input(s, info.name, &in->tensors[k], &report);
    if (!case_go_on(c, status, report, tn_cli_print("input %zu", k))) return false;
  }
  tn_report *report = NULL;
  const tn_status status = tn_session_run(s, &report);
  return case_go_on(c, status, report, "run");
}

static bool case_compare(tn_case *c, const tn_program *p, tn_session *s, const case_files *want, tn_tolerance tol) {
  for (size_t k = 0; k < want->n; k++) {
    tn_value_info info = {.name = ""};
    const tn_tensor *const got = tn_session_output(s, k);
    const tn_status status = tn_program_output(p, k, &info);
    const char *const why = got && status == TN_OK ? tn_compare(got, &want->tensors[k], tol) : "is missing";
    if (!why) continue;
    case_end(c, TN_VERDICT_FAIL, tn_cli_print("output '%s' %s", info.name, why));
    return false;
  }
  return true;
}

static bool case_run_set(tn_case *c, const tn_program *p, tn_session *s, const char *set, tn_tolerance tol) {
  case_files in = {0}, want = {0};
  const bool ok = case_read(c, p, true, set, &in) && case_read(c, p, false, set, &want) &&
                  case_run_session(c, p, s, &in) && case_compare(c, p, s, &want, tol);
  case_release(&in);
  case_release(&want);
  return ok;
}

static void case_run_sets(tn_case *c, const tn_case_options *o, tn_program *p) {
  tn_texts sets;
  tn_report *report = NULL;
  tn_session *session = NULL;
  if (!case_folders(c->path, "test_data_set_", &sets) || sets.n == 0) {
    case_end(c, TN_VERDICT_FAIL, "there is no test_data_set_0");
    return;
  }
  const tn_session_options so = {.size = sizeof so, .threads = o->threads};
  const tn_status s = tn_session_create(p, &so, &session, &report);
  bool ok = case_go_on(c, s, report, "session");
  for (size_t i = 0; ok && i < sets.n; i++)
    ok = case_run_set(c, p, session, tn_cli_print("%s/%s", c->path, sets.items[i]), o->tolerance);
  if (session) tn_session_release(session);
}

/* In a process of its own: compiles and saves. True when there is a program in the file; else compiling again says why
 * not. */
static bool case_save_elsewhere(const tn_case *c, const tn_case_options *o, const char *file) {
  int status = 0;
  const pid_t child = fork();
  if (child == 0) {
    tn_program *p = NULL;
    const bool ok = tn_compile_file(tn_cli_print("%s/model.onnx", c->path), &o->compile, &p, NULL) == TN_OK &&
                    tn_program_save(p, file, NULL) == TN_OK;
    _exit(ok ? 0 : 1);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The case's program, NULL when it is decided without. */
static tn_program *case_program(tn_case *c, const tn_case_options *o) {
  tn_program *p = NULL;
  tn_report *report = NULL;
  const char *const file = o->is_through_program ? tn_cli_temporary(false) : NULL;
  const bool is_saved = file && case_save_elsewhere(c, o, file);
  const tn_status s = is_saved ? tn_program_load_file(file, &p, &report)
                               : tn_compile_file(tn_cli_print("%s/model.onnx", c->path), &o->compile, &p, &report);
  if (file) unlink(file);
  if (!case_go_on(c, s, report, is_saved ? "load" : "compile")) return NULL;
  if (o->is_through_program && !is_saved) { /* it compiles here, but was not saved there */
    c->verdict = TN_VERDICT_FAIL;
    c->why = "the program could not be saved";
    tn_program_free(p);
    return NULL;
  }
  return p;
}

void tn_case_run(tn_case *c, const tn_case_options *o) {
  c->verdict = TN_VERDICT_PASS;
  c->why = NULL;
  tn_program *const p = case_program(c, o);
  if (!p) return;
  case_run_sets(c, o, p);
  tn_program_free(p);
}
