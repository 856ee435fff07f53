/* Interned strings. Each is preceded in memory by its hash and length, so that the table is one array of pointers. */
#include "base/intern.h"

#include "base/checked.h"
#include "base/hash.h"

void tn_intern_init(tn_intern *t, tn_arena *arena) { *t = (tn_intern){.arena = arena}; }

static const tn_intern_head *intern_head(const char *z) { return (const tn_intern_head *)(const void *)z - 1; }

/* Names are short: two loads, which may overlap, take all of one. */
static uint64_t intern_hash(tn_str s) {
  uint64_t a = 0, b = 0;
  if (s.len > 16) return tn_hash_bytes(s.ptr, s.len, 0);
  if (s.len >= 8) {
    memcpy(&a, s.ptr, 8);
    memcpy(&b, s.ptr + s.len - 8, 8);
  } else if (s.len >= 4) {
    memcpy(&a, s.ptr, 4);
    memcpy(&b, s.ptr + s.len - 4, 4);
  } else if (s.len) {
    a = (uint8_t)s.ptr[0];
    b = (uint64_t)(uint8_t)s.ptr[s.len / 2] << 8 | (uint8_t)s.ptr[s.len - 1];
  }
  return tn_hash_u64(tn_hash_u64(a + s.len) + b);
}

static bool intern_is(const char *z, tn_str s, uint64_t hash) {
  const tn_intern_head *const h = intern_head(z);
  return h->hash == hash && h->len == s.len && (s.len == 0 || memcmp(z, s.ptr, s.len) == 0);
}

static size_t intern_probe(const tn_intern *t, tn_str s, uint64_t hash) {
  size_t i = (size_t)hash & (t->n_slots - 1);
  while (t->slots[i] && !intern_is(t->slots[i], s, hash)) i = (i + 1) & (t->n_slots - 1);
  return i;
}

static void intern_rehash(tn_intern *t, size_t n_new) {
  const char **old = t->slots;
  const size_t n_old = t->n_slots;
  const char **slots = tn_arena_zero(t->arena, n_new, sizeof slots[0]);
  for (size_t k = 0; k < n_old; k++) {
    if (!old[k]) continue;
    size_t i = (size_t)intern_head(old[k])->hash & (n_new - 1);
    while (slots[i]) i = (i + 1) & (n_new - 1);
    slots[i] = old[k];
  }
  t->slots = slots;
  t->n_slots = n_new;
}

void tn_intern_reserve(tn_intern *t, size_t n) {
  size_t n_slots = t->n_slots ? t->n_slots : 64;
  if (n > UINT32_MAX / 4) return;
  while (n_slots <= 2 * (t->n + n)) n_slots *= 2;
  if (n_slots > t->n_slots) intern_rehash(t, n_slots);
}

static const char *intern_add(tn_intern *t, tn_str s, uint64_t hash, size_t slot) {
  const tn_intern_head h = {hash, (uint32_t)s.len, (uint32_t)t->n};
  size_t bytes;
  if (t->n > UINT32_MAX - 2 || s.len > UINT32_MAX || !tn_add_size(s.len, sizeof h + 1, &bytes))
    bytes = SIZE_MAX; /* cannot be had: ends in the arena's way out */
  char *p = tn_arena_alloc(t->arena, bytes, 1);
  memcpy(p, &h, sizeof h);
  p += sizeof h;
  if (s.len) memcpy(p, s.ptr, s.len);
  p[s.len] = 0;
  t->slots[slot] = p;
  t->n++;
  return p;
}

/* Names are asked for again soon after they came: those of late are found without the table. */
const char *tn_intern_str(tn_intern *t, tn_str s) {
  const uint64_t hash = intern_hash(s);
  const char **const recent = &t->recent[hash % TN_INTERN_RECENT];
  if (*recent && intern_is(*recent, s, hash)) return *recent;
  if (t->n * 2 >= t->n_slots) intern_rehash(t, t->n_slots ? t->n_slots * 2 : 64);
  const size_t slot = intern_probe(t, s, hash);
  return *recent = t->slots[slot] ? t->slots[slot] : intern_add(t, s, hash, slot);
}

void tn_intern_expect(const tn_intern *t, tn_str s) {
  if (t->n_slots) __builtin_prefetch(&t->slots[intern_hash(s) & (t->n_slots - 1)]);
}

const char *tn_intern_find(const tn_intern *t, tn_str s) {
  return t->n ? t->slots[intern_probe(t, s, intern_hash(s))] : NULL;
}
