/* Open addressing with linear probing; slots hold indices into the entries, which stay in insertion order. */
#include "base/map.h"

#include "base/hash.h"
#include "base/vec.h"

/* Numbers given out in order need no mixing: those of one map differ, and are at most as many as were given out. */
static size_t map_probe(const tn_map *m, uint64_t key) {
  size_t i = (size_t)(m->by_id ? key : tn_hash_u64(key + 0x9e3779b97f4a7c15u)) & (m->n_slots - 1);
  while (m->slots[i] && m->entries[m->slots[i] - 1].key != key) i = (i + 1) & (m->n_slots - 1);
  return i;
}

static void map_rehash(tn_arena *a, tn_map *m, size_t n_slots) {
  m->n_slots = n_slots;
  m->slots = tn_arena_zero(a, m->n_slots, sizeof m->slots[0]);
  for (size_t i = 0; i < m->n; i++) m->slots[map_probe(m, m->entries[i].key)] = (uint32_t)(i + 1);
}

void tn_map_set(tn_arena *a, tn_map *m, uint64_t key, uint64_t value) {
  if (m->n * 2 >= m->n_slots) map_rehash(a, m, m->n_slots ? m->n_slots * 2 : 16);
  const size_t slot = map_probe(m, key);
  if (m->slots[slot]) {
    m->entries[m->slots[slot] - 1].value = value;
    return;
  }
  if (m->n == UINT32_MAX - 1) (void)tn_arena_alloc(a, SIZE_MAX, 2); /* does not return: beyond what slots can index */
  if (m->n == m->cap) m->entries = tn_vec_grow(a, m->entries, m->n, &m->cap, m->n + 1, sizeof m->entries[0]);
  m->entries[m->n++] = (tn_map_entry){key, value};
  m->slots[slot] = (uint32_t)m->n;
}

void tn_map_reserve(tn_arena *a, tn_map *m, size_t n) {
  size_t n_slots = m->n_slots ? m->n_slots : 16;
  if (n > UINT32_MAX / 4) return; /* grows as it is filled, if it is */
  while (n_slots <= 2 * n) n_slots *= 2;
  if (n_slots > m->n_slots) map_rehash(a, m, n_slots);
  if (n > m->cap) m->entries = tn_vec_grow(a, m->entries, m->n, &m->cap, n, sizeof m->entries[0]);
}

bool tn_map_find(const tn_map *m, uint64_t key, uint64_t *out_value) {
  if (m->n == 0) return false;
  const uint32_t at = m->slots[map_probe(m, key)];
  if (at && out_value) *out_value = m->entries[at - 1].value;
  return at != 0;
}
