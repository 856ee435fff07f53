/* BLAKE2b (RFC 7693) of 256 bits: for names that no one may forge. For tables and checks there is base/hash.h. */
#ifndef TN_BASE_DIGEST_H
#define TN_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TN_DIGEST_BYTES = 32, TN_DIGEST_BLOCK = 128 };

typedef struct tn_digest {
  uint64_t h[8], total; /* total: bytes in h */
  uint8_t block[TN_DIGEST_BLOCK];
  size_t used; /* bytes in block */
} tn_digest;

void tn_digest_init(tn_digest *d);
void tn_digest_add(tn_digest *d, const void *bytes, size_t n);
/* As if the bytes were added, at the speed of memory: what is mixed in is a universal hash of them (NH of UMAC, words
 * of 64 bits). Who does not know the key makes different bytes equal with probability 2^-64. */
typedef struct tn_digest_key {
  uint64_t word[128];
} tn_digest_key;
void tn_digest_expand(const void *secret, size_t n, tn_digest_key *out);
void tn_digest_add_keyed(tn_digest *d, const tn_digest_key *key, const void *bytes, size_t n);
void tn_digest_end(tn_digest *d, uint8_t out[TN_DIGEST_BYTES]);

#endif
