/* The oracle: after every kernel step the operator's own double-precision evaluation of the same operands. */
#include <math.h>

#include "driver/report.h"
#include "driver/session.h"
#include "driver/tool.h"
#include "ir/eval.h"

struct tn_oracle {
  tn_compilation c; /* alive: the nodes behind the steps */
  tn_session *session;
  tn_divergence result;
  char first[1000];
};

static const tn_lit *oracle_lit(tn_arena *a, const tn_karg *k, int depth) {
  enum { MAX_DEPTH = 4 };
  tn_lit *l = TN_NEW(a, tn_lit);
  l->file_offset = -1;
  l->dtype = k->dtype;
  if (k->kind == TN_KARG_TENSOR) {
    size_t bytes = 0;
    int64_t *dims = TN_NEW_ARRAY(a, int64_t, k->rank + 1);
    for (int j = 0; j < k->rank; j++) dims[j] = k->dims[j];
    l->kind = TN_TYPE_TENSOR;
    l->rank = k->rank;
    l->dims = dims;
    l->count = k->count;
    l->data = k->data;
    if (tn_dtype_bytes(k->dtype, k->count, &bytes)) l->bytes = bytes;
    return l;
  }
  l->kind = k->kind == TN_KARG_SEQUENCE   ? TN_TYPE_SEQUENCE
            : k->kind == TN_KARG_OPTIONAL ? TN_TYPE_OPTIONAL
                                          : TN_TYPE_MAP;
  const tn_lit **items = TN_NEW_ARRAY(a, const tn_lit *, k->n_items + 1);
  for (int64_t i = 0; i < k->n_items && depth < MAX_DEPTH; i++) items[i] = oracle_lit(a, k->items[i], depth + 1);
  l->items = items;
  l->n_items = depth < MAX_DEPTH ? k->n_items : 0;
  return l;
}

/* Unit in the last place of a type's numbers, relative. */
static double oracle_epsilon(tn_dtype d) {
  switch (d) {
    case TN_F16:
      return 0x1p-10;
    case TN_BF16:
      return 0x1p-7;
    case TN_F64:
      return 0x1p-52;
    case TN_F8E4M3FN:
    case TN_F8E4M3FNUZ:
      return 0x1p-3;
    case TN_F8E5M2:
    case TN_F8E5M2FNUZ:
      return 0x1p-2;
    default:
      return 0x1p-23;
  }
}

static double oracle_smallest(tn_dtype d) { /* smallest normal number */
  return d == TN_F16 ? 0x1p-14 : d == TN_F64 ? 0x1p-1022 : 0x1p-126;
}

/* `largest` is the largest finite magnitude of the output. */
static bool oracle_agrees(tn_accuracy acc, tn_dtype d, double have, double want, double largest, double *out_error) {
  *out_error = 0;
  if ((isnan(have) && isnan(want)) || !(have < want || have > want || isnan(have) || isnan(want))) return true;
  *out_error = isfinite(have) && isfinite(want) ? fabs(have - want) : HUGE_VAL;
  const double reach = acc.kind == TN_ACC_SUM ? largest : fabs(want), size = reach > 1 ? reach : 1;
  if (acc.kind == TN_ACC_REL || acc.kind == TN_ACC_SUM) {
    const double scale = d == TN_F64 ? 1 : oracle_epsilon(d) / 0x1p-23;
    return *out_error <= acc.tol * (scale > 1 ? scale : 1) * size;
  }
  if (acc.kind != TN_ACC_ULP || !tn_dtype_is_float(d)) return false;
  const double bottom = oracle_smallest(d), normal = fabs(want) > bottom ? fabs(want) : bottom;
  return *out_error <= (acc.tol + 0.5) * oracle_epsilon(d) * normal; /* `want` is rounded too */
}

static void oracle_note(tn_oracle *o, const char *label, const char *what) {
  if (o->result.first) return;
  const size_t n = strlen(label) < 600 ? strlen(label) : 600;
  memcpy(o->first, label, n);
  memcpy(o->first + n, ": ", 2);
  const size_t m = strlen(what) < sizeof o->first - n - 3 ? strlen(what) : sizeof o->first - n - 3;
  memcpy(o->first + n + 2, what, m);
  o->first[n + 2 + m] = 0;
  o->result.first = o->first;
}

/* NULL when they agree, else what differs first. */
static double oracle_largest(const tn_lit *l) {
  double largest = 0;
  for (int64_t i = 0; i < l->count; i++) {
    const double v = fabs(tn_lit_f64(l, i));
    if (isfinite(v) && v > largest) largest = v;
  }
  return largest;
}

static const char *oracle_compare(tn_oracle *o, tn_accuracy acc, const tn_lit *have, const tn_lit *want) {
  tn_arena *a = &o->c.ctx.pass;
  if (have->kind != want->kind) return "another kind of value";
  if (have->kind != TN_TYPE_TENSOR) {
    if (have->n_items != want->n_items) return "another number of elements";
    for (int64_t i = 0; i < have->n_items; i++) { /* nested at most as deep as oracle_lit made it */
      const char *differs = oracle_compare(o, acc, have->items[i], want->items[i]);
      if (differs) return differs;
    }
    return NULL;
  }
  if (have->dtype != want->dtype || have->rank != want->rank) return "another element type or rank";
  for (int j = 0; j < have->rank; j++)
    if (have->dims[j] != want->dims[j])
      return tn_arena_printf(a, "dim %d is %lld, oracle %lld", j, (long long)have->dims[j], (long long)want->dims[j]);
  if (acc.kind == TN_ACC_RANDOM) return NULL;
  const tn_dtype_class cls = tn_dtype_cls(have->dtype);
  if (cls == TN_CLASS_STRING) return tn_lit_equal(have, want) ? NULL : "other strings";
  const double largest = acc.kind == TN_ACC_SUM ? oracle_largest(want) : 0;
  for (int64_t i = 0; i < have->count; i++) {
    double error;
    if (cls == TN_CLASS_INT || cls == TN_CLASS_UINT || cls == TN_CLASS_BOOL) {
      const int64_t x = tn_lit_i64_at(have, i), y = tn_lit_i64_at(want, i);
      if (x == y || oracle_agrees(acc, have->dtype, (double)x, (double)y, largest, &error)) continue;
      return tn_arena_printf(a, "element %lld is %lld, oracle %lld", (long long)i, (long long)x, (long long)y);
    }
    const double x = tn_lit_f64(have, i), y = tn_lit_f64(want, i);
    const bool agrees = oracle_agrees(acc, have->dtype, x, y, largest, &error);
    if (error > o->result.max_abs_error) o->result.max_abs_error = error;
    if (!agrees) return tn_arena_printf(a, "element %lld is %.9g, oracle %.9g", (long long)i, x, y);
  }
  return NULL;
}

typedef struct oracle_step {
  tn_oracle *oracle;
  uint32_t step;
  const tn_kcall *call;
} oracle_step;

static tn_status oracle_inside(tn_ctx *ctx, void *arg) {
  const oracle_step *s = arg;
  tn_oracle *o = s->oracle;
  tn_arena *a = &ctx->pass;
  const tn_node *node = o->c.pass.step_nodes[s->step];
  const tn_lit **in = TN_NEW_ARRAY(a, const tn_lit *, node->n_in + 1);
  tn_lit **out = TN_NEW_ARRAY(a, tn_lit *, node->n_out + 1);
  for (int i = 0; i < node->n_in && i < s->call->n_in; i++)
    in[i] = s->call->in[i] ? oracle_lit(a, s->call->in[i], 0) : NULL;
  const char *label = o->session->program->steps[s->step].label;
  const size_t n_diags = ctx->diags.n;
  const tn_status status = tn_eval_node(o->c.graph, node, NULL, a, in, out);
  const char *differs = NULL;
  if (status != TN_OK)
    differs = tn_arena_printf(a, "the oracle fails: %s", ctx->diags.n > n_diags ? ctx->diags.at[n_diags].text : "?");
  for (int i = 0; !differs && i < node->n_out && i < s->call->n_out; i++)
    if (s->call->out[i] && out[i])
      differs = oracle_compare(o, node->op->accuracy, oracle_lit(a, s->call->out[i], 0), out[i]);
  ctx->diags.n = n_diags;
  o->result.steps++;
  if (differs) {
    o->result.failed++;
    oracle_note(o, label, differs);
  }
  return TN_OK;
}

static tn_status oracle_on_step(void *arg, uint32_t step, const tn_kcall *call, int64_t ns, tn_error *err) {
  tn_oracle *o = arg;
  (void)ns;
  if (step >= o->session->program->n_steps || o->session->program->steps[step].kind != TN_STEP_KERNEL) return TN_OK;
  oracle_step s = {o, step, call};
  const tn_status status = tn_ctx_run(&o->c.ctx, oracle_inside, &s);
  tn_arena_drop(&o->c.ctx.pass);
  return status == TN_OK ? TN_OK : tn_error_set(err, status, "no memory for the oracle");
}

static tn_status oracle_start(tn_oracle *o, const char *path, const tn_compile_options *options,
                              const tn_session_options *so, tn_report **out_report) {
  const tn_allocator a = tn_allocator_system();
  const tn_compile_request q = {
      .allocator = a, .path = path, .options = options, .max_edits = -1, .keep_operands = true};
  tn_program *p = NULL;
  tn_status status = tn_compile(&q, &o->c, &p, out_report);
  if (status != TN_OK) return status;
  tn_error err = {0};
  if (o->c.is_program)
    status = tn_error_set(&err, TN_INVALID, "a program holds no model for the oracle");
  else
    status = tn_session_new(a, p, so, &o->session, &err);
  tn_program_release(p);
  if (status != TN_OK && out_report) {
    tn_report_release(*out_report);
    return tn_report_error(out_report, &err);
  }
  return status;
}

tn_status tn_oracle_create(const char *path, const tn_compile_options *o, const tn_session_options *so,
                           tn_session **out_session, tn_oracle **out, tn_report **out_report) {
  tn_oracle *oracle = tn_alloc(tn_allocator_system(), sizeof *oracle);
  *out = NULL;
  *out_session = NULL;
  if (!oracle) return tn_report_failure(out_report, TN_OOM, "out of memory");
  memset(oracle, 0, sizeof *oracle);
  const tn_status status = oracle_start(oracle, path, o, so, out_report);
  if (status != TN_OK) {
    tn_compilation_drop(&oracle->c);
    tn_free(tn_allocator_system(), oracle, sizeof *oracle);
    return status;
  }
  tn_session_listen(oracle->session, oracle_on_step, oracle);
  *out = oracle;
  *out_session = oracle->session;
  return TN_OK;
}

void tn_oracle_result(const tn_oracle *o, tn_divergence *out) { *out = o->result; }

void tn_oracle_release(tn_oracle *o) {
  if (!o) return;
  tn_session_listen(o->session, NULL, NULL);
  tn_compilation_drop(&o->c);
  tn_free(tn_allocator_system(), o, sizeof *o);
}
