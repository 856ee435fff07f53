/* Elements replaced through a list of pairs: a table of the keys' hashes, made anew in each run. */
#include "kern/move.h"

typedef struct pairs_job {
  const tn_karg *x, *keys, *values, *absent;
  tn_karg *y;
  int64_t *table; /* 1 + number of a key; 0: free */
  int64_t mask;
} pairs_job;

static uint64_t pairs_mix(uint64_t bits) {
  bits *= UINT64_C(0x9E3779B97F4A7C15);
  return bits ^ bits >> 29;
}
static uint64_t pairs_hash(const tn_karg *a, int64_t i) {
  if (a->dtype == TN_STR) {
    const tn_str s = ((const tn_str *)a->data)[i];
    uint64_t h = UINT64_C(14695981039346656037);
    for (size_t c = 0; c < s.len; c++) h = (h ^ (uint8_t)s.ptr[c]) * UINT64_C(1099511628211);
    return h ^ h >> 29;
  }
  uint64_t bits;
  if (tn_dtype_is_float(a->dtype)) {
    double v = tn_load_f64(a->dtype, a->data, i);
    if (!(v < 0) && !(v > 0) && v >= v) v = 0; /* both zeros */
    memcpy(&bits, &v, sizeof bits);
    if (!(v >= v)) bits = 1; /* every NaN */
  } else {
    bits = (uint64_t)tn_k_i64(a, i);
  }
  return pairs_mix(bits);
}

static bool pairs_same(const tn_karg *a, int64_t i, const tn_karg *b, int64_t j) {
  if (a->dtype == TN_STR) return tn_str_eq(((const tn_str *)a->data)[i], ((const tn_str *)b->data)[j]);
  if (!tn_dtype_is_float(a->dtype)) return tn_k_i64(a, i) == tn_k_i64(b, j);
  const double x = tn_load_f64(a->dtype, a->data, i), y = tn_load_f64(b->dtype, b->data, j);
  return !(x < y) && !(x > y) && (x >= x) == (y >= y);
}

/* The slot of the key that equals element i of a, or the free one where it would be. */
static int64_t pairs_slot(const pairs_job *j, const tn_karg *a, int64_t i) {
  if (a->dtype == TN_I64) {
    const int64_t *const keys = j->keys->data, key = ((const int64_t *)a->data)[i];
    int64_t slot = (int64_t)(pairs_mix((uint64_t)key) & (uint64_t)j->mask);
    while (j->table[slot] && keys[j->table[slot] - 1] != key) slot = (slot + 1) & j->mask;
    return slot;
  }
  int64_t at = (int64_t)(pairs_hash(a, i) & (uint64_t)j->mask);
  while (j->table[at] && !pairs_same(a, i, j->keys, j->table[at] - 1)) at = (at + 1) & j->mask;
  return at;
}

static void pairs_task(void *arg, int64_t begin, int64_t end, int worker) {
  const pairs_job *const j = arg;
  (void)worker;
  for (int64_t i = begin; i < end; i++) {
    const int64_t found = j->table[pairs_slot(j, j->x, i)];
    tn_copy_element(j->y->dtype, j->y->data, i, found ? j->values->data : j->absent->data, found ? found - 1 : 0);
  }
}

TN_KERNEL(map_values, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 4, 1));
  pairs_job j = {.x = k->in[0], .keys = k->in[1], .values = k->in[2], .absent = k->in[3], .y = k->out[0]};
  if (j.keys->count != j.values->count || j.absent->count < 1 || j.x->dtype != j.keys->dtype ||
      j.values->dtype != j.absent->dtype)
    return tn_k_fail(k, TN_MISMATCH, "%lld keys for %lld values", (long long)j.keys->count, (long long)j.values->count);
  TN_TRY(tn_k_out_type(k, 0, j.values->dtype));
  TN_TRY(tn_k_out(k, 0, j.x->rank, j.x->dims));
  int64_t slots = 64;
  while (slots < 4 * j.keys->count) slots *= 2;
  void *room;
  TN_TRY(tn_k_room(k, slots, sizeof *j.table, &room));
  j.table = room;
  j.mask = slots - 1;
  memset(room, 0, (size_t)slots * sizeof *j.table);
  for (int64_t i = 0; i < j.keys->count; i++) {
    const int64_t at = pairs_slot(&j, j.keys, i);
    if (!j.table[at]) j.table[at] = i + 1;
  }
  tn_pool_for(k->pool, j.x->count, 1024, pairs_task, &j);
  return TN_OK;
}
