/* Unique: sorts the slices' numbers, then walks the groups of equal ones. */
#include <math.h>

#include "kern/move.h"
#include "kern/order.h"

typedef struct unique_job {
  const tn_karg *x;
  int64_t n, outer, inner; /* slices; elements of a slice are outer x inner */
} unique_job;

static int unique_compare_element(const tn_karg *x, int64_t a, int64_t b) {
  if (x->dtype == TN_STR) {
    const tn_str s = ((const tn_str *)x->data)[a], t = ((const tn_str *)x->data)[b];
    const size_t n = s.len < t.len ? s.len : t.len;
    const int order = n ? memcmp(s.ptr, t.ptr, n) : 0;
    return order ? order : (s.len > t.len) - (s.len < t.len);
  }
  if (tn_dtype_is_float(x->dtype)) {
    const double u = tn_load_f64(x->dtype, x->data, a), v = tn_load_f64(x->dtype, x->data, b);
    if (isnan(u) || isnan(v)) return (isnan(u) ? 1 : 0) - (isnan(v) ? 1 : 0);
    return (u > v) - (u < v);
  }
  const int64_t u = tn_load_i64(x->dtype, x->data, a), v = tn_load_i64(x->dtype, x->data, b);
  if (x->dtype == TN_U64) return ((uint64_t)u > (uint64_t)v) - ((uint64_t)u < (uint64_t)v);
  return (u > v) - (u < v);
}
static int unique_compare(const unique_job *j, int64_t a, int64_t b) {
  int order = 0;
  for (int64_t o = 0; o < j->outer && !order; o++)
    for (int64_t i = 0; i < j->inner && !order; i++)
      order = unique_compare_element(j->x, (o * j->n + a) * j->inner + i, (o * j->n + b) * j->inner + i);
  return order;
}
/* Stable: by rank[] where given, else by the slices themselves. The result is in `order`. */
static void unique_sort(const unique_job *j, const int64_t *rank, int64_t *order, int64_t *room, int64_t n) {
  int64_t *from = order, *to = room;
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t lo = 0; lo < n; lo += 2 * width) {
      const int64_t mid = n - lo < width ? n : lo + width, hi = n - mid < width ? n : mid + width;
      int64_t a = lo, b = mid;
      for (int64_t i = lo; i < hi; i++) {
        bool second = a == mid;
        if (!second && b < hi) second = rank ? rank[from[b]] < rank[from[a]] : unique_compare(j, from[b], from[a]) < 0;
        to[i] = second ? from[b++] : from[a++];
      }
    }
    int64_t *const other = from;
    from = to;
    to = other;
  }
  if (from != order && n > 0) memcpy(order, from, (size_t)n * sizeof *order);
}

static tn_status unique_results(tn_kcall *k, const unique_job *j, int axis, bool by_axis, int64_t groups,
                                const int64_t *order, const int64_t *first) {
  const tn_karg *const x = j->x;
  int64_t dims[TN_K_MAX_RANK + 1];
  for (int d = 0; d < x->rank; d++) dims[d] = x->dims[d];
  dims[axis] = groups;
  TN_TRY(tn_k_out(k, 0, by_axis ? x->rank : 1, dims));
  TN_TRY(tn_k_out(k, 1, 1, &groups));
  TN_TRY(tn_k_out(k, 2, 1, &j->n));
  TN_TRY(tn_k_out(k, 3, 1, &groups));
  for (int64_t g = 0; tn_k_outp(k, 0) && g < groups; g++)
    for (int64_t o = 0; o < j->outer; o++)
      tn_k_copy(x->dtype, k->out[0]->data, (o * groups + g) * j->inner, x->data,
                (o * j->n + first[order[g]]) * j->inner, j->inner);
  return TN_OK;
}
TN_KERNEL(unique, TN_K_SIZES) {
  TN_TRY(tn_k_tensors(k, 1, 0));
  const tn_karg *const x = k->in[0];
  const tn_kattr *const attr = tn_k_attr(k, "axis");
  unique_job j = {.x = x, .n = x->count, .outer = 1, .inner = 1};
  int axis = 0;
  if (tn_dtype_cls(x->dtype) == TN_CLASS_COMPLEX) return tn_k_no_dtype(k, 0);
  TN_TRY(tn_k_out_type(k, 0, x->dtype));
  for (int i = 1; i < 4; i++) TN_TRY(tn_k_out_type(k, i, TN_I64));
  if (attr) {
    TN_TRY(tn_k_axis(k, attr->i, x->rank, &axis));
    j.outer = tn_k_count(x->dims, 0, axis);
    j.n = x->dims[axis];
    j.inner = tn_k_count(x->dims, axis + 1, x->rank);
  }
  void *rooms[6]; /* order, merge room, group by slice, first by group, count by group, key by slice or rank by group */
  for (int i = 0; i < 6; i++) TN_TRY(tn_k_room(k, j.n, sizeof(int64_t), &rooms[i]));
  int64_t *const order = rooms[0], *const group = rooms[2], *const first = rooms[3], *const count = rooms[4];
  int64_t *const rank = rooms[5], groups = 0;
  for (int64_t s = 0; s < j.n; s++) order[s] = s;
  const bool single = j.outer == 1 && j.inner == 1 && x->dtype != TN_STR; /* one number each: keys decide */
  for (int64_t s = 0; single && s < j.n; s++) rank[s] = tn_order_key(x->dtype, x->data, s);
  unique_sort(&j, single ? rank : NULL, order, rooms[1], j.n);
  for (int64_t i = 0; i < j.n; i++) {
    const bool is_same =
        i > 0 && (single ? rank[order[i - 1]] == rank[order[i]] : unique_compare(&j, order[i - 1], order[i]) == 0);
    if (!is_same) {
      first[groups] = order[i];
      count[groups++] = 0;
    }
    group[order[i]] = groups - 1;
    count[groups - 1]++;
  }
  for (int64_t g = 0; g < groups; g++) order[g] = g;
  if (!tn_k_int(k, "sorted", 1)) unique_sort(&j, first, order, rooms[1], groups);
  for (int64_t g = 0; g < groups; g++) rank[order[g]] = g;
  TN_TRY(unique_results(k, &j, axis, attr != NULL, groups, order, first));
  int64_t *const places = tn_k_outp(k, 1) ? k->out[1]->data : NULL;
  int64_t *const inverse = tn_k_outp(k, 2) ? k->out[2]->data : NULL;
  int64_t *const counts = tn_k_outp(k, 3) ? k->out[3]->data : NULL;
  for (int64_t g = 0; places && g < groups; g++) places[g] = first[order[g]];
  for (int64_t s = 0; inverse && s < j.n; s++) inverse[s] = rank[group[s]];
  for (int64_t g = 0; counts && g < groups; g++) counts[g] = count[order[g]];
  return TN_OK;
}
