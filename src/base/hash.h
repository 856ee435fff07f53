/* A fixed hash (the same on every machine): for maps, interning and content checks. Not cryptographic. */
#ifndef TN_BASE_HASH_H
#define TN_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* Eight bytes, little endian, in a form that compilers make one load of. */
static inline uint64_t tn_hash_word(const uint8_t *p) {
  return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 | (uint64_t)p[4] << 32 |
         (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}
uint64_t tn_hash_bytes(const void *p, size_t n, uint64_t seed);
static inline uint64_t tn_hash_u64(uint64_t x) { /* finaliser of SplitMix64 */
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}
static inline uint64_t tn_hash_mix(uint64_t h, uint64_t x) {
  return tn_hash_u64(h ^ (x + 0x9e3779b97f4a7c15u + (h << 6)));
}

#endif
