/* The walk over the steps. */
#include <inttypes.h>
#include <stdio.h>

#include "base/hash.h"
#include "rt/session.h"

/* Late outputs are emptied before a kernel runs, so that what it does not write is noticed. */
static void run_clear_outs(tn_rt_session *s, const tn_pstep *t) {
  for (uint32_t i = 0; i < t->out.n; i++) {
    const int32_t v = s->p->operands[t->out.first + i];
    if (v == TN_NO_INDEX || s->p->values[v].store != TN_STORE_LATE || tn_rt_is_sized(&s->p->values[v])) continue;
    tn_karg *a = &s->args[v];
    a->rank = -1;
    a->count = 0;
    a->n_items = 0;
    a->data = NULL;
    a->is_late = true;
  }
}

/* Bits of the last byte that no element of a packed tensor has are 0, so that equal results are equal bytes. */
static void run_clear_spare(const tn_karg *a, int depth) {
  const int64_t bits = tn_dtype_bits(a->dtype), per = bits == 2 || bits == 4 ? 8 / bits : 1;
  if (a->kind != TN_KARG_TENSOR) {
    for (int64_t i = 0; depth < TN_RT_MAX_NESTING && i < a->n_items; i++) run_clear_spare(a->items[i], depth + 1);
    return;
  }
  const int64_t used = a->count % per * bits;
  if (used) ((uint8_t *)a->data)[a->count / per] &= (uint8_t)((1 << used) - 1);
}

static tn_status run_check_outs(const tn_rt_session *s, const tn_pstep *t, tn_error *err) {
  for (uint32_t i = 0; i < t->out.n; i++) {
    const int32_t v = s->p->operands[t->out.first + i];
    if (v == TN_NO_INDEX) continue;
    const tn_pvalue *x = &s->p->values[v];
    const tn_karg *a = &s->args[v];
    if (a->kind != TN_KARG_TENSOR) {
      run_clear_spare(a, 0);
      continue;
    }
    if (a->rank < 0 || !a->data) return tn_error_set(err, TN_INTERNAL, "%s: '%s' was not made", t->label, x->name);
    if (x->rank >= 0 && a->rank != x->rank)
      return tn_error_set(err, TN_INTERNAL, "%s: '%s' has rank %d, expected %d", t->label, x->name, a->rank, x->rank);
    run_clear_spare(a, 0);
  }
  return TN_OK;
}

static tn_status run_kernel(tn_rt_session *s, uint32_t number, tn_error *err) {
  const tn_pstep *t = &s->p->steps[number];
  tn_rt_step *step = &s->steps[number];
  tn_rt_chunks_reset(&s->scratch);
  (void)tn_rt_inner_error(s);
  step->call.seed = tn_hash_mix(s->seed, s->n_calls++);
  const int64_t begin = s->hook ? tn_now_ns() : 0;
  const tn_status status = step->kernel->run(&step->call);
  if (TN_UNLIKELY(status != TN_OK)) {
    memset(step->cache_bytes, 0, sizeof step->cache_bytes); /* may be half made */
    const char *text = s->kernel_error.text[0] ? s->kernel_error.text : tn_status_text(status);
    return tn_error_set(err, status, "%s: %s", t->label, text);
  }
  TN_TRY(run_check_outs(s, t, err));
  return s->hook ? s->hook(s->hook_arg, number, &step->call, tn_now_ns() - begin, err) : TN_OK;
}

/* Errors of sizes that appear in the middle of a run name the step that made them appear. */
static tn_status run_label(const tn_pstep *t, tn_status status, const tn_error *inner, tn_error *err) {
  const bool is_named = strncmp(inner->text, t->label, strlen(t->label)) == 0; /* checks name their node themselves */
  return status == TN_OK
             ? TN_OK
             : tn_error_set(err, status, "%s%s%s", is_named ? "" : t->label, is_named ? "" : ": ", inner->text);
}

static tn_status run_before(tn_rt_session *s, uint32_t number, tn_error *err) {
  if (s->steps[number].before.n == 0) return TN_OK;
  tn_error *inner = tn_rt_inner_error(s);
  return run_label(&s->p->steps[number], tn_rt_resolve(s, s->steps[number].before, inner), inner, err);
}

static tn_status run_after(tn_rt_session *s, uint32_t number, tn_error *err) {
  const tn_pstep *t = &s->p->steps[number];
  if (t->segment == TN_NO_INDEX && s->steps[number].after.n == 0) return TN_OK;
  tn_error *inner = tn_rt_inner_error(s);
  if (t->segment != TN_NO_INDEX) TN_TRY(run_label(t, tn_rt_segment(s, (uint32_t)t->segment, inner), inner, err));
  return run_label(t, tn_rt_resolve(s, s->steps[number].after, inner), inner, err);
}

tn_status tn_rt_watch(tn_rt_session *s, tn_error *err) {
  if (__atomic_load_n(&s->cancelled, __ATOMIC_RELAXED)) {
    __atomic_store_n(&s->cancelled, 0, __ATOMIC_RELAXED);
    return tn_error_set(err, TN_CANCELLED, "the run was cancelled");
  }
  if (s->until_ns && tn_now_ns() >= s->until_ns)
    return tn_error_set(err, TN_CANCELLED, "the run took longer than its deadline of %" PRId64 " ms",
                        s->deadline_ns / 1000000);
  return TN_OK;
}

void tn_rt_cancel(tn_rt_session *s) { __atomic_store_n(&s->cancelled, 1, __ATOMIC_RELAXED); }
void tn_rt_set_deadline(tn_rt_session *s, int64_t ns) { s->deadline_ns = ns; }
void tn_rt_set_progress(tn_rt_session *s, tn_rt_progress progress, void *arg) {
  s->progress = progress;
  s->progress_arg = arg;
}

static tn_status run_step(tn_rt_session *s, uint32_t number, tn_error *err) {
  const tn_pstep *t = &s->p->steps[number];
  TN_TRY(run_before(s, number, err));
  run_clear_outs(s, t);
  if (t->kind == TN_STEP_KERNEL) {
    TN_TRY(run_kernel(s, number, err));
  } else if (t->kind == TN_STEP_VIEW) {
    tn_error *inner = tn_rt_inner_error(s);
    const uint32_t out = (uint32_t)s->p->operands[t->out.first];
    TN_TRY(run_label(t, tn_rt_resolve_value(s, out, inner), inner, err));
  } else {
    TN_TRY(tn_rt_control(s, number, err));
    TN_TRY(run_check_outs(s, t, err));
  }
  return run_after(s, number, err);
}

tn_status tn_rt_steps(tn_rt_session *s, uint32_t region, tn_error *err) {
  const tn_pspan steps = s->p->regions[region].steps;
  for (uint32_t i = 0; i < steps.n; i++) {
    if (region == 0 && s->progress && s->progress(s->progress_arg, i, steps.n)) tn_rt_cancel(s);
    TN_TRY(tn_rt_watch(s, err));
    TN_TRY(run_step(s, steps.first + i, err));
  }
  return TN_OK;
}

/* With the shapes of the last bind only the callers' pointers can be new. */
static tn_status run_entry(tn_rt_session *s, tn_error *err) {
  if (s->is_bound && !tn_rt_elements_changed(s)) {
    tn_rt_move_buffers_back(s);
    TN_TRY(tn_rt_move_buffers(s, err));
    return tn_rt_resolve(s, s->regions[0].entry, err);
  }
  s->is_bound = false;
  tn_rt_move_buffers_back(s);
  if (s->is_shrinking) tn_rt_trim(s);
  TN_TRY(tn_rt_bind_main(s, err));
  s->is_bound = true;
  return TN_OK;
}

static tn_status run_all(tn_rt_session *s, tn_error *err) {
  tn_rt_chunks_reset(&s->strings);
  s->until_ns = s->deadline_ns > 0 ? tn_now_ns() + s->deadline_ns : 0;
  TN_TRY(tn_rt_gear_enter(s, err));
  TN_TRY(run_entry(s, err));
  TN_TRY(tn_rt_steps(s, 0, err));
  TN_TRY(tn_rt_gear_leave(s, err));
  if (s->n_user_outputs) TN_TRY(tn_rt_copy_outputs(s, err));
  s->runs++;
  return TN_OK;
}

tn_status tn_rt_denied(tn_rt_session *s, tn_status status, tn_error *err) {
  const int64_t denied = s->denied_bytes;
  s->denied_bytes = 0;
  if (status != TN_OOM || denied == 0) return status;
  char what[600];
  snprintf(what, sizeof what, "%.*s", (int)sizeof what - 1, err->text);
  *err = (tn_error){0};
  return tn_error_set(err, TN_LIMIT, "%" PRId64 " bytes of memory are needed, but only %" PRId64 " are allowed: %s",
                      denied, s->max_memory, what);
}

tn_status tn_rt_run(tn_rt_session *s, tn_error *err) {
  TN_TRY(tn_rt_give_links(s, err));
  for (uint32_t i = 0; i < s->p->n_inputs; i++)
    if (!s->is_set[i])
      return tn_error_set(err, TN_MISMATCH, "input '%s' is missing (%s)", s->p->inputs[i].name,
                          s->p->inputs[i].type_text);
  tn_status status = run_all(s, err);
  if (status == TN_OK) status = tn_rt_keep_links(s, err);
  s->gear.is_inside = false;
  return tn_rt_denied(s, status, err);
}
