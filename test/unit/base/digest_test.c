#include "base/digest.h"

#include "test.h"

static void check(const void *bytes, size_t n, size_t piece, const char *want) {
  tn_digest d;
  uint8_t out[TN_DIGEST_BYTES];
  char text[2 * TN_DIGEST_BYTES + 1];
  tn_digest_init(&d);
  for (size_t at = 0; at < n; at += piece)
    tn_digest_add(&d, (const uint8_t *)bytes + at, n - at < piece ? n - at : piece);
  tn_digest_end(&d, out);
  for (int i = 0; i < TN_DIGEST_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", out[i]);
  CHECK_STR(text, want);
}

/* Expected: hashlib.blake2b(data, digest_size=32). */
TEST(known_values) {
  uint8_t bytes[1000];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7 + 3);
  check(bytes, 0, 1000, "0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8");
  check(bytes, 1, 1000, "e88bd757ad5b9bedf372d8d3f0cf6c962a469db61a265f6418e1ffed86da29ec");
  check(bytes, 127, 1000, "c9ae3859964b35f04c54b36d33cf299d7290ee621005d28e51598a943560aaaa");
  check(bytes, 128, 1000, "f0501d06597880592bc49234eef100ec1ff349058d0e9d9b753504e24af86dd6");
  check(bytes, 129, 1000, "a34a4e1e03c541dfbf3099c4b6c143c022ced65c28bd7e8a10e0a098461aecf0");
  check(bytes, 255, 1000, "f2d64a40e9412a3414161ff6250075225418fd7c271c1123e162e1bca0de9f93");
  check(bytes, 256, 1000, "d93ebb9c802f5630ab22516fd82b6c21bc8bd551d531349b715f046ed11ed871");
  check(bytes, 257, 1000, "4ce481b24d387422d2bc2baa03d1afd55a1327939ff537c71eb9b38709268649");
  check(bytes, 1000, 1000, "d62b6c768ce1afc8367e0498ab2f8e3f7c178c35b1429f14c4604b545d200f52");
  for (size_t piece = 1; piece < 300; piece++)
    check(bytes, sizeof bytes, piece, "d62b6c768ce1afc8367e0498ab2f8e3f7c178c35b1429f14c4604b545d200f52");
}

static void keyed(const tn_digest_key *key, const void *bytes, size_t n, uint8_t out[TN_DIGEST_BYTES]) {
  tn_digest d;
  tn_digest_init(&d);
  tn_digest_add_keyed(&d, key, bytes, n);
  tn_digest_end(&d, out);
}

/* Every bit, the length and the key count. */
TEST(keyed_bytes) {
  static uint8_t bytes[3000];
  tn_digest_key key, other;
  uint8_t want[TN_DIGEST_BYTES], have[TN_DIGEST_BYTES];
  tn_digest_expand("secret", 6, &key);
  tn_digest_expand("sekret", 6, &other);
  keyed(&key, bytes, sizeof bytes, want);
  keyed(&key, bytes, sizeof bytes, have);
  CHECK(memcmp(want, have, sizeof want) == 0);
  keyed(&other, bytes, sizeof bytes, have);
  CHECK(memcmp(want, have, sizeof want) != 0);
  for (size_t bit = 0; bit < sizeof bytes * 8; bit++) {
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    keyed(&key, bytes, sizeof bytes, have);
    if (memcmp(want, have, sizeof want) == 0 && !CHECK(false)) printf("  bit %zu\n", bit);
    bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
  }
  for (size_t n = 0; n < sizeof bytes; n++) {
    keyed(&key, bytes, n, have);
    CHECK(memcmp(want, have, sizeof want) != 0);
  }
}

/* Words 1, 2 under a key of (3, 5): (1 + 3) * (2 + 5) = 28, and zeros under the rest. */
TEST(nh_by_hand) {
  static const uint8_t words[16] = {1, 0, 0, 0, 0, 0, 0, 0, 2};
  static const uint8_t mixed[24] = {16, 0, 0, 0, 0, 0, 0, 0, 28};
  const tn_digest_key key = {{3, 5}};
  uint8_t want[TN_DIGEST_BYTES], have[TN_DIGEST_BYTES];
  tn_digest d;
  tn_digest_init(&d);
  tn_digest_add(&d, mixed, sizeof mixed);
  tn_digest_end(&d, want);
  keyed(&key, words, sizeof words, have);
  CHECK(memcmp(want, have, sizeof want) == 0);
}
