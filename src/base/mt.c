/* MT19937. */
#include "base/mt.h"

enum { MT_N = 624, MT_M = 397 };

void tn_mt_init(tn_mt *m, uint32_t seed) {
  m->state[0] = seed;
  for (uint32_t i = 1; i < MT_N; i++) m->state[i] = 1812433253u * (m->state[i - 1] ^ m->state[i - 1] >> 30) + i;
  m->at = MT_N;
}

static void mt_refill(tn_mt *m) {
  for (int i = 0; i < MT_N; i++) {
    const uint32_t y = (m->state[i] & 0x80000000u) | (m->state[(i + 1) % MT_N] & 0x7fffffffu);
    m->state[i] = m->state[(i + MT_M) % MT_N] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
  }
  m->at = 0;
}
static uint32_t mt_u32(tn_mt *m) {
  if (m->at == MT_N) mt_refill(m);
  uint32_t y = m->state[m->at++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680u;
  y ^= y << 15 & 0xefc60000u;
  return y ^ y >> 18;
}
double tn_mt_f64(tn_mt *m) {
  const uint32_t high = mt_u32(m) >> 5, low = mt_u32(m) >> 6;
  return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}
