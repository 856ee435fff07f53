/* BLAKE2b, and NH before it. */
#include "base/digest.h"

#include <string.h>

#include "base/compiler.h"
#include "base/hash.h"

__extension__ typedef unsigned __int128 digest_wide;

static const uint64_t digest_iv[8] = {0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu,
                                      0xa54ff53a5f1d36f1u, 0x510e527fade682d1u, 0x9b05688c2b3e6c1fu,
                                      0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u};

/* Which word of the block a step takes; rounds 10 and 11 are as 0 and 1. */
static const uint8_t digest_order[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static inline uint64_t digest_rotate(uint64_t x, int n) { return x >> n | x << (64 - n); }

static inline void digest_mix(uint64_t *v, int a, int b, int c, int d, uint64_t x, uint64_t y) {
  v[a] += v[b] + x;
  v[d] = digest_rotate(v[d] ^ v[a], 32);
  v[c] += v[d];
  v[b] = digest_rotate(v[b] ^ v[c], 24);
  v[a] += v[b] + y;
  v[d] = digest_rotate(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = digest_rotate(v[b] ^ v[c], 63);
}

static void digest_block(tn_digest *d, const uint8_t *block, size_t n, bool is_last) {
  uint64_t v[16], m[16];
  d->total += n;
  for (int i = 0; i < 16; i++) {
    m[i] = tn_hash_word(block + 8 * i);
    v[i] = i < 8 ? d->h[i] : digest_iv[i - 8];
  }
  v[12] ^= d->total;
  if (is_last) v[14] = ~v[14];
  for (int round = 0; round < 12; round++) {
    const uint8_t *s = digest_order[round % 10];
    digest_mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
    digest_mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
    digest_mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
    digest_mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
    digest_mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
    digest_mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
    digest_mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
    digest_mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
  }
  for (int i = 0; i < 8; i++) d->h[i] ^= v[i] ^ v[i + 8];
}

void tn_digest_init(tn_digest *d) {
  memset(d, 0, sizeof *d);
  memcpy(d->h, digest_iv, sizeof d->h);
  d->h[0] ^= 0x01010000u | TN_DIGEST_BYTES;
}

/* The last block is kept back: whether it is the last is said when it is mixed in. */
void tn_digest_add(tn_digest *d, const void *bytes, size_t n) {
  const uint8_t *at = bytes;
  while (n > 0) {
    if (d->used == TN_DIGEST_BLOCK) {
      digest_block(d, d->block, TN_DIGEST_BLOCK, false);
      d->used = 0;
    }
    for (; d->used == 0 && n > TN_DIGEST_BLOCK; at += TN_DIGEST_BLOCK, n -= TN_DIGEST_BLOCK)
      digest_block(d, at, TN_DIGEST_BLOCK, false);
    const size_t room = TN_DIGEST_BLOCK - d->used, take = n < room ? n : room;
    memcpy(d->block + d->used, at, take);
    d->used += take;
    at += take;
    n -= take;
  }
}

void tn_digest_end(tn_digest *d, uint8_t out[TN_DIGEST_BYTES]) {
  memset(d->block + d->used, 0, TN_DIGEST_BLOCK - d->used);
  digest_block(d, d->block, d->used, true);
  for (int i = 0; i < TN_DIGEST_BYTES; i++) out[i] = (uint8_t)(d->h[i / 8] >> (8 * (i % 8)));
}

void tn_digest_expand(const void *secret, size_t n, tn_digest_key *out) {
  enum { WORDS = TN_DIGEST_BYTES / 8 };
  for (uint32_t i = 0; i < TN_COUNT(out->word) / WORDS; i++) {
    const uint8_t number = (uint8_t)i;
    tn_digest d;
    uint8_t bytes[TN_DIGEST_BYTES];
    tn_digest_init(&d);
    tn_digest_add(&d, &number, 1);
    tn_digest_add(&d, secret, n);
    tn_digest_end(&d, bytes);
    for (size_t k = 0; k < WORDS; k++) out->word[i * WORDS + k] = tn_hash_word(bytes + 8 * k);
  }
}

static void digest_add_word(tn_digest *d, uint64_t x) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)(x >> (8 * i));
  tn_digest_add(d, bytes, sizeof bytes);
}

static void digest_add_nh(tn_digest *d, const tn_digest_key *key, const uint8_t *block) {
  digest_wide sum = 0;
  for (size_t i = 0; i < TN_COUNT(key->word); i += 2)
    sum += (digest_wide)(tn_hash_word(block + 8 * i) + key->word[i]) *
           (tn_hash_word(block + 8 * i + 8) + key->word[i + 1]);
  digest_add_word(d, (uint64_t)sum);
  digest_add_word(d, (uint64_t)(sum >> 64));
}

/* The length tells a block that was filled up from one that ends in zeros. */
void tn_digest_add_keyed(tn_digest *d, const tn_digest_key *key, const void *bytes, size_t n) {
  uint8_t last[sizeof key->word] = {0};
  const uint8_t *at = bytes;
  digest_add_word(d, n);
  for (; n >= sizeof last; at += sizeof last, n -= sizeof last) digest_add_nh(d, key, at);
  if (n > 0) digest_add_nh(d, key, memcpy(last, at, n));
}
