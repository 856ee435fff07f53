#include "base/hash.h"

#include "test.h"

/* Values of the xxhash package's xxh64. */
TEST(xxh64) {
  uint8_t bytes[101];
  for (int i = 0; i < 101; i++) bytes[i] = (uint8_t)i;
  CHECK(tn_hash_bytes(NULL, 0, 0) == 0xef46db3751d8e999u);
  CHECK(tn_hash_bytes("", 0, 12345) == 0x95584af7701f808du);
  CHECK(tn_hash_bytes("a", 1, 0) == 0xd24ec4f1a98c6e5bu);
  CHECK(tn_hash_bytes("abc", 3, 12345) == 0x01700e64f6f23509u);
  CHECK(tn_hash_bytes(bytes, 8, 0) == 0x884a173614b81b8du);
  CHECK(tn_hash_bytes(bytes, 31, 12345) == 0xa0efafec9dc8252au);
  CHECK(tn_hash_bytes(bytes, 32, 0) == 0xcbf59c5116ff32b4u);
  CHECK(tn_hash_bytes(bytes, 101, 12345) == 0x7ba75d9ec97cb882u);
}

TEST(splitmix64) {
  CHECK(tn_hash_u64(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu); /* the generator's first number for seed 0 */
  CHECK(tn_hash_mix(1, 2) != tn_hash_mix(2, 1));
}
