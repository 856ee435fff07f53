#include "driver/sums.h"

#include <string.h>

static bool sums_is_at_most(const tn_sum_sizes *z, uint32_t a, uint32_t b) {
  return z->bytes[a] == z->bytes[b] || tn_sym_bounds(z->syms, tn_sym_sub(z->syms, z->bytes[b], z->bytes[a])).lo >= 0;
}

/* Takes a term of `b` for term `id`: an equal one, or (wide) any that is as large. */
static bool sums_take(const tn_sum_sizes *z, uint32_t id, const tn_sum *b, bool *is_taken, bool wide) {
  for (uint32_t j = 0; j < b->n; j++) {
    if (is_taken[j] || !(wide ? sums_is_at_most(z, id, b->ids[j]) : z->bytes[id] == z->bytes[b->ids[j]])) continue;
    return is_taken[j] = true;
  }
  return false;
}

/* Is each term of `a` at most a term of `b` of its own? Then so are the sums, also when sizes are rounded up. Equal
 * sizes are paired first, then each term with the first that will do. */
static bool sums_is_below(const tn_sum_sizes *z, const tn_sum *a, const tn_sum *b) {
  bool is_paired[TN_SUM_TERMS] = {false}, is_taken[TN_SUM_TERMS] = {false};
  if (a->n > b->n) return false;
  for (uint32_t i = 0; i < a->n; i++) is_paired[i] = sums_take(z, a->ids[i], b, is_taken, false);
  for (uint32_t i = 0; i < a->n; i++)
    if (!is_paired[i] && !sums_take(z, a->ids[i], b, is_taken, true)) return false;
  return true;
}

void tn_sums_add(const tn_sum_sizes *z, tn_sums *sums, const tn_sum *sum) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < sums->n; i++)
    if (sums_is_below(z, sum, &sums->at[i])) return;
  for (uint32_t i = 0; i < sums->n; i++)
    if (!sums_is_below(z, &sums->at[i], sum)) sums->at[kept++] = sums->at[i];
  sums->n = kept;
  if (kept == TN_SUMS_MOST)
    sums->is_cut = true;
  else
    sums->at[sums->n++] = *sum;
}

bool tn_sum_with(const tn_sum *sum, uint32_t id, tn_sum *out) {
  uint32_t at = sum->n;
  if (sum->n == TN_SUM_TERMS) return false;
  while (at > 0 && sum->ids[at - 1] > id) at--;
  memcpy(out->ids, sum->ids, at * sizeof *sum->ids);
  out->ids[at] = id;
  memcpy(out->ids + at + 1, sum->ids + at, (sum->n - at) * sizeof *sum->ids);
  out->n = sum->n + 1;
  return true;
}

tn_sym tn_sums_max(const tn_sum_sizes *z, const tn_sums *sums, int64_t align) {
  const tn_sym unit = tn_sym_int(z->syms, align);
  tn_sym most = tn_sym_int(z->syms, 0);
  if (sums->is_cut) return NULL;
  for (uint32_t i = 0; i < sums->n; i++) {
    tn_sym all = tn_sym_int(z->syms, 0);
    for (uint32_t j = 0; j < sums->at[i].n; j++)
      all = tn_sym_add(z->syms, all,
                       tn_sym_muli(z->syms, tn_sym_ceildiv(z->syms, z->bytes[sums->at[i].ids[j]], unit), align));
    most = tn_sym_max(z->syms, most, all);
  }
  return most;
}
