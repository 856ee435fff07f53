/* The shapes bound last: symbols and sizes by slot, places by buffer. A shape that returns is neither computed nor
 * planned again. */
#include "base/hash.h"
#include "rt/session.h"

static uint32_t bound_dims(const tn_pvalue *x) { return x->rank < 0 ? TN_K_MAX_RANK : (uint32_t)x->rank; }

size_t tn_rt_key_size(const tn_program *p) {
  size_t n = 2 * (size_t)p->n_symbols + p->segments[p->regions[0].segment].binds.n;
  for (uint32_t i = 0; i < p->n_inputs; i++) n += 1 + bound_dims(&p->values[p->inputs[i].value]);
  return n;
}

/* False when an element that acts as a size cannot be read: binding will say why. */
static bool bound_key(const tn_rt_session *s, int64_t *key) {
  const tn_program *p = s->p;
  const tn_pspan binds = p->segments[p->regions[0].segment].binds;
  for (uint32_t i = 0; i < p->n_inputs; i++) {
    const tn_karg *a = &s->args[p->inputs[i].value];
    const uint32_t n = bound_dims(&p->values[p->inputs[i].value]);
    *key++ = a->rank;
    for (uint32_t d = 0; d < n; d++) *key++ = (int)d < a->rank ? a->dims[d] : 0;
  }
  for (uint32_t i = 0; i < p->n_symbols; i++) {
    *key++ = s->is_given[i];
    *key++ = s->is_given[i] ? s->given[i] : 0;
  }
  for (uint32_t i = 0; i < binds.n; i++) {
    const tn_pbind *b = &p->binds[binds.first + i];
    const tn_karg *a = &s->args[b->value];
    if (b->is_elem && (b->index >= a->count || tn_dtype_is_float(a->dtype))) return false;
    *key++ = b->is_elem ? tn_load_i64(a->dtype, a->data, b->index) : 0;
  }
  return true;
}

void tn_rt_recall(tn_rt_session *s) {
  s->recall = NULL;
  if (s->n_bound == 0) return;
  if (!bound_key(s, s->key)) {
    s->key_size = 0; /* nothing to keep this bind under */
    return;
  }
  s->key_size = (uint32_t)tn_rt_key_size(s->p);
  const size_t bytes = s->key_size * sizeof *s->key;
  const uint64_t hash = tn_hash_bytes(s->key, bytes, 0);
  for (uint32_t i = 0; i < s->n_bound; i++) {
    tn_rt_bound *b = &s->bound[i];
    if (!b->used || b->hash != hash || memcmp(b->key, s->key, bytes) != 0) continue;
    b->used = (uint64_t)s->binds + 1;
    memcpy(s->slots, b->slots, s->p->n_slots * sizeof *s->slots);
    s->recall = b;
    return;
  }
}

void tn_rt_keep(tn_rt_session *s) {
  const tn_pspan buffers = s->p->regions[0].buffers;
  if (s->n_bound == 0 || s->key_size == 0) return;
  tn_rt_bound *b = &s->bound[0];
  for (uint32_t i = 1; i < s->n_bound; i++)
    if (s->bound[i].used < b->used) b = &s->bound[i];
  const size_t key = s->key_size * sizeof *b->key, slots = s->p->n_slots * sizeof *b->slots;
  b->used = 0;
  if (!tn_rt_grow(s, &b->memory, key + slots + buffers.n * sizeof *b->offsets, 0)) {
    s->denied_bytes = 0;
    return;
  }
  b->key = b->memory.ptr;
  b->slots = b->key + s->key_size;
  b->offsets = (size_t *)(b->slots + s->p->n_slots);
  memcpy(b->key, s->key, key);
  memcpy(b->slots, s->slots, slots);
  for (uint32_t i = 0; i < buffers.n; i++) b->offsets[i] = s->intervals[buffers.first + i].offset;
  b->arena_bytes = s->regions[0].arena_bytes;
  b->live_bytes = s->regions[0].live_bytes;
  b->hash = tn_hash_bytes(s->key, key, 0);
  b->used = (uint64_t)s->binds + 1;
}

void tn_rt_forget(tn_rt_session *s) {
  for (uint32_t i = 0; i < s->n_bound; i++) {
    tn_rt_drop(s, &s->bound[i].memory);
    s->bound[i] = (tn_rt_bound){0};
  }
}
