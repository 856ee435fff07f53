/* Mutations that a program's verification does not see through at once: the sizes, element types, attributes, kernels
 * and operands of a program that is decoded, changed and written again. */
#ifndef TN_FUZZ_PROGRAM_MUTATE_H
#define TN_FUZZ_PROGRAM_MUTATE_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "code/program.h"
#include "kern/kern.h"

typedef struct mutator {
  tn_program *p;
  uint64_t seed, drawn;
} mutator;

static uint64_t mutate_below(mutator *m, uint64_t n) { return n ? tn_hash_mix(m->seed, ++m->drawn) % n : 0; }

/* A number that is likely to be one too many. */
static int64_t mutate_number(mutator *m, int64_t old) {
  static const int64_t odd[] = {0,  1,  2,  3,  4,  5,    7,         8,         16,       17,
                                -1, -2, -3, -5, 64, 1000, INT32_MAX, INT64_MAX, INT64_MIN};
  if (mutate_below(m, 3) == 0) return (int64_t)((uint64_t)old + mutate_below(m, 5) - 2);
  return odd[mutate_below(m, TN_COUNT(odd) - (mutate_below(m, 3) ? 4 : 0))];
}

static void mutate_code(mutator *m) {
  if (!m->p->n_code) return;
  tn_shape_ins *c = (tn_shape_ins *)(uintptr_t)&m->p->code[mutate_below(m, m->p->n_code)];
  if (c->op == TN_SHAPE_CONST) c->imm = mutate_number(m, c->imm);
}

static void mutate_slot(mutator *m) {
  if (!m->p->n_dim_slots) return;
  uint32_t *slot = (uint32_t *)(uintptr_t)&m->p->dim_slots[mutate_below(m, m->p->n_dim_slots)];
  *slot = (uint32_t)mutate_below(m, m->p->n_slots);
}

/* The type of one value, or of all that have it. */
static void mutate_dtype(mutator *m) {
  if (!m->p->n_values) return;
  tn_pvalue *values = (tn_pvalue *)(uintptr_t)m->p->values;
  const uint64_t at = mutate_below(m, m->p->n_values);
  const uint8_t old = values[at].dtype, new = (uint8_t)(1 + mutate_below(m, TN_N_DTYPES - 1));
  const bool all = mutate_below(m, 2);
  for (uint32_t i = 0; i < m->p->n_values; i++)
    if (i == at || (all && values[i].dtype == old)) values[i].dtype = new;
}

static void mutate_dims(mutator *m) {
  if (!m->p->n_values) return;
  tn_pvalue *x = (tn_pvalue *)(uintptr_t)&m->p->values[mutate_below(m, m->p->n_values)];
  const uint64_t what = mutate_below(m, 4);
  if (what == 0) {
    x->rank = -1;
    x->dims.n = 0;
    return;
  }
  const uint32_t rank = (uint32_t)mutate_below(m, what == 1 ? 17 : 6);
  x->rank = (int8_t)rank;
  x->dims.n = rank;
  if (x->dims.first + rank > m->p->n_dim_slots) x->dims.first = 0;
}

static void mutate_attr(mutator *m) {
  if (!m->p->n_attrs) return;
  tn_pattr *a = (tn_pattr *)(uintptr_t)&m->p->attrs[mutate_below(m, m->p->n_attrs)];
  switch (mutate_below(m, 6)) {
    case 0:
      a->kind = (uint8_t)mutate_below(m, 7);
      return;
    case 1:
      if (a->list.n) a->list.n = (uint32_t)mutate_below(m, 2 * (uint64_t)a->list.n + 1);
      return;
    case 2:
      a->f = (double)mutate_number(m, (int64_t)a->f);
      return;
    case 3:
      a->name = mutate_below(m, 2) ? "none" : a->name;
      return;
    default:
      a->i = mutate_number(m, a->i);
      if (a->kind == TN_PATTR_INTS && a->list.n && a->list.first + a->list.n <= m->p->n_ints) {
        int64_t *one = (int64_t *)(uintptr_t)&m->p->ints[a->list.first + mutate_below(m, a->list.n)];
        *one = mutate_number(m, *one);
      }
  }
}

static void mutate_step(mutator *m) {
  if (!m->p->n_steps) return;
  tn_pstep *s = (tn_pstep *)(uintptr_t)&m->p->steps[mutate_below(m, m->p->n_steps)];
  switch (mutate_below(m, 4)) {
    case 0:
      if (s->kind == TN_STEP_KERNEL) s->kernel = tn_kernel_at((int)mutate_below(m, (uint64_t)tn_kernel_count()))->name;
      return;
    case 1:
      s->in.n = (uint32_t)mutate_below(m, (uint64_t)s->in.n + 2);
      return;
    case 2:
      s->out.n = (uint32_t)mutate_below(m, (uint64_t)s->out.n + 1);
      return;
    default:
      s->attrs.n = (uint32_t)mutate_below(m, (uint64_t)s->attrs.n + 1);
  }
}

static void mutate_operand(mutator *m) {
  if (!m->p->n_operands) return;
  int32_t *o = (int32_t *)(uintptr_t)&m->p->operands[mutate_below(m, m->p->n_operands)];
  *o = mutate_below(m, 4) ? (int32_t)mutate_below(m, m->p->n_values) : TN_NO_INDEX;
}

/* An element of a constant: most are indices, sizes or axes where it matters. */
static void mutate_weight(mutator *m) {
  if (!m->p->weights_bytes) return;
  uint8_t *w = (uint8_t *)(uintptr_t)m->p->weights;
  const uint64_t at = mutate_below(m, m->p->weights_bytes);
  if (at % 8 == 0 && at + 8 <= m->p->weights_bytes) {
    const int64_t v = mutate_number(m, w[at]);
    memcpy(w + at, &v, sizeof v);
  } else {
    w[at] = (uint8_t)mutate_number(m, w[at]);
  }
}

static void mutate_program(tn_program *p, uint64_t seed) {
  static void (*const kinds[])(mutator *) = {mutate_code, mutate_code, mutate_slot, mutate_dtype,   mutate_dims,
                                             mutate_attr, mutate_attr, mutate_step, mutate_operand, mutate_weight};
  mutator m = {.p = p, .seed = seed};
  const uint64_t n = 1 + mutate_below(&m, 4);
  for (uint64_t i = 0; i < n; i++) kinds[mutate_below(&m, TN_COUNT(kinds))](&m);
}

#endif
