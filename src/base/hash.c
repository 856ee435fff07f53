/* XXH64. */
#include "base/hash.h"

#include <string.h>

static const uint64_t hash_p1 = 0x9E3779B185EBCA87u, hash_p2 = 0xC2B2AE3D27D4EB4Fu, hash_p3 = 0x165667B19E3779F9u,
                      hash_p4 = 0x85EBCA77C2B2AE63u, hash_p5 = 0x27D4EB2F165667C5u;

static uint64_t hash_rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

/* As tn_hash_word. */
static uint64_t hash_u32(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24;
}

static uint64_t hash_round(uint64_t acc, uint64_t x) { return hash_rotate(acc + x * hash_p2, 31) * hash_p1; }

static uint64_t hash_blocks(const uint8_t *p, size_t n_blocks, uint64_t seed) {
  uint64_t v[4] = {seed + hash_p1 + hash_p2, seed + hash_p2, seed, seed - hash_p1};
  for (size_t b = 0; b < n_blocks; b++) {
    for (size_t k = 0; k < 4; k++) v[k] = hash_round(v[k], tn_hash_word(p + b * 32 + k * 8));
  }
  uint64_t h = hash_rotate(v[0], 1) + hash_rotate(v[1], 7) + hash_rotate(v[2], 12) + hash_rotate(v[3], 18);
  for (size_t k = 0; k < 4; k++) h = (h ^ hash_round(0, v[k])) * hash_p1 + hash_p4;
  return h;
}

static uint64_t hash_tail(uint64_t h, const uint8_t *p, size_t n) {
  for (; n >= 8; p += 8, n -= 8) h = hash_rotate(h ^ hash_round(0, tn_hash_word(p)), 27) * hash_p1 + hash_p4;
  if (n >= 4) {
    h = hash_rotate(h ^ hash_u32(p) * hash_p1, 23) * hash_p2 + hash_p3;
    p += 4;
    n -= 4;
  }
  for (; n; p++, n--) h = hash_rotate(h ^ *p * hash_p5, 11) * hash_p1;
  return h;
}

uint64_t tn_hash_bytes(const void *p, size_t n, uint64_t seed) {
  if (n == 0) p = "";
  const size_t n_blocks = n / 32;
  uint64_t h = n_blocks ? hash_blocks(p, n_blocks, seed) : seed + hash_p5;
  h = hash_tail(h + n, (const uint8_t *)p + n_blocks * 32, n % 32);
  h = (h ^ h >> 33) * hash_p2;
  h = (h ^ h >> 29) * hash_p3;
  return h ^ h >> 32;
}
