/* Interned strings. Each is preceded in memory by its hash and length, so that the table is one array of pointers. */
#include "base/intern.h"

#include "base/checked.h"
#include "base/hash.h"

typedef struct intern_head {
  uint64_t hash;
  size_t len;
} intern_head;

void tn_intern_init(tn_intern *t, tn_arena *arena) { *t = (tn_intern){arena, NULL, 0, 0}; }

static intern_head intern_head_of(const char *z) {
  intern_head h;
  memcpy(&h, z - sizeof h, sizeof h);
  return h;
}

static size_t intern_probe(const tn_intern *t, tn_str s, uint64_t hash) {
  size_t i = (size_t)hash & (t->n_slots - 1);
  for (; t->slots[i]; i = (i + 1) & (t->n_slots - 1)) {
    const intern_head h = intern_head_of(t->slots[i]);
    if (h.hash == hash && h.len == s.len && (s.len == 0 || memcmp(t->slots[i], s.ptr, s.len) == 0)) break;
  }
  return i;
}

static void intern_rehash(tn_intern *t) {
  const char **old = t->slots;
  const size_t n_old = t->n_slots, n_new = n_old ? n_old * 2 : 64;
  const char **slots = tn_arena_zero(t->arena, n_new, sizeof slots[0]);
  for (size_t k = 0; k < n_old; k++) {
    if (!old[k]) continue;
    size_t i = (size_t)intern_head_of(old[k]).hash & (n_new - 1);
    while (slots[i]) i = (i + 1) & (n_new - 1);
    slots[i] = old[k];
  }
  t->slots = slots;
  t->n_slots = n_new;
}

const char *tn_intern_str(tn_intern *t, tn_str s) {
  if (t->n * 2 >= t->n_slots) intern_rehash(t);
  const intern_head h = {tn_hash_bytes(s.ptr, s.len, 0), s.len};
  const size_t slot = intern_probe(t, s, h.hash);
  if (t->slots[slot]) return t->slots[slot];
  size_t bytes;
  if (!tn_add_size(s.len, sizeof h + 1, &bytes)) bytes = SIZE_MAX; /* cannot be had: ends in the arena's way out */
  char *p = tn_arena_alloc(t->arena, bytes, 1);
  memcpy(p, &h, sizeof h);
  p += sizeof h;
  if (s.len) memcpy(p, s.ptr, s.len);
  p[s.len] = 0;
  t->slots[slot] = p;
  t->n++;
  return p;
}

const char *tn_intern_find(const tn_intern *t, tn_str s) {
  return t->n ? t->slots[intern_probe(t, s, tn_hash_bytes(s.ptr, s.len, 0))] : NULL;
}
