/* Sequences and optionals: items are copied, so no value shares memory with another. */
#include "kern/kern.h"

TN_KERNEL(sequence_empty, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 0, 1));
  k->out[0]->n_items = 0;
  return TN_OK;
}

TN_KERNEL(sequence_construct, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, k->n_in, 1));
  k->out[0]->n_items = 0;
  for (int i = 0; i < k->n_in; i++) TN_TRY(tn_k_item_copy(k, k->out[0], i, k->in[i]));
  return TN_OK;
}

static tn_status sequence_at_position(tn_kcall *k, const tn_karg *at, int64_t n, int64_t limit, int64_t *out) {
  int64_t p = at ? (at->count == 1 ? tn_k_i64(at, 0) : INT64_MAX) : limit;
  if (p < 0) p += n;
  if (p < 0 || p > limit)
    return tn_k_fail(k, TN_MISMATCH, "position %lld is outside a sequence of %lld", (long long)p, (long long)n);
  *out = p;
  return TN_OK;
}

TN_KERNEL(sequence_insert, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 2, 1));
  const tn_karg *const s = k->in[0];
  int64_t at = 0;
  TN_TRY(sequence_at_position(k, tn_k_in(k, 2), s->n_items, s->n_items, &at));
  k->out[0]->n_items = 0;
  for (int64_t i = 0; i <= s->n_items; i++)
    TN_TRY(tn_k_item_copy(k, k->out[0], i, i == at ? k->in[1] : s->items[i > at ? i - 1 : i]));
  return TN_OK;
}

TN_KERNEL(sequence_erase, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *const s = k->in[0];
  int64_t at, to = 0;
  TN_TRY(sequence_at_position(k, tn_k_in(k, 1), s->n_items, s->n_items - 1, &at));
  k->out[0]->n_items = 0;
  for (int64_t i = 0; i < s->n_items; i++)
    if (i != at) TN_TRY(tn_k_item_copy(k, k->out[0], to++, s->items[i]));
  return TN_OK;
}

TN_KERNEL(sequence_at, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 2, 1));
  int64_t at = 0;
  TN_TRY(sequence_at_position(k, k->in[1], k->in[0]->n_items, k->in[0]->n_items - 1, &at));
  return tn_k_out_copy(k, 0, k->in[0]->items[at]);
}

TN_KERNEL(sequence_length, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  TN_TRY(tn_k_out(k, 0, 0, NULL));
  tn_store_i64(TN_I64, k->out[0]->data, 0, k->in[0]->n_items);
  return TN_OK;
}

/* Length of part i along a dim with `left` still to be cut. */
static int64_t sequence_part(const tn_karg *split, int64_t i, int64_t left) {
  const int64_t want = !split ? 1 : tn_k_i64(split, split->rank == 0 ? 0 : i);
  return split && split->rank == 1 ? want : (want < left ? want : left);
}

TN_KERNEL(split_to_sequence, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *const x = k->in[0];
  const tn_karg *const split = tn_k_in(k, 1);
  int axis;
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 0), x->rank, &axis));
  const bool keep = split || tn_k_int(k, "keepdims", 1) != 0;
  int64_t outer = 1, inner = 1, start = 0;
  for (int d = 0; d < axis; d++) outer *= x->dims[d];
  for (int d = axis + 1; d < x->rank; d++) inner *= x->dims[d];
  k->out[0]->n_items = 0;
  const bool listed = split && split->rank == 1;
  for (int64_t i = 0; listed ? i < split->count : start < x->dims[axis]; i++) {
    const int64_t n = sequence_part(split, i, x->dims[axis] - start);
    if (n < !listed || n > x->dims[axis] - start)
      return tn_k_fail(k, TN_MISMATCH, "part %lld has length %lld", (long long)i, (long long)n);
    int64_t dims[TN_K_MAX_RANK];
    int rank = 0;
    for (int d = 0; d < x->rank; d++)
      if (d != axis || keep) dims[rank++] = d == axis ? n : x->dims[d];
    tn_karg *y;
    TN_TRY(tn_k_item(k, k->out[0], i, x->dtype, rank, dims, &y));
    for (int64_t o = 0; o < outer; o++)
      tn_k_copy(x->dtype, y->data, o * n * inner, x->data, (o * x->dims[axis] + start) * inner, n * inner);
    start += n;
  }
  if (start != x->dims[axis])
    return tn_k_fail(k, TN_MISMATCH, "the parts add up to %lld, not %lld", (long long)start, (long long)x->dims[axis]);
  return TN_OK;
}

TN_KERNEL(concat_from_sequence, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *const s = k->in[0];
  const bool new_axis = tn_k_int(k, "new_axis", 0) != 0;
  if (s->n_items == 0) return tn_k_fail(k, TN_MISMATCH, "the sequence is empty");
  const tn_karg *const first = s->items[0];
  int64_t dims[TN_K_MAX_RANK + 1], outer = 1, inner = 1, start = 0;
  const int rank = first->rank + new_axis;
  int axis;
  if (rank > TN_K_MAX_RANK) return tn_k_fail(k, TN_LIMIT, "rank %d is above %d", rank, TN_K_MAX_RANK);
  TN_TRY(tn_k_axis(k, tn_k_int(k, "axis", 0), rank, &axis));
  for (int d = 0, from = 0; d < rank; d++) dims[d] = new_axis && d == axis ? s->n_items : first->dims[from++];
  if (!new_axis) dims[axis] = 0;
  for (int64_t i = 0; i < s->n_items; i++) {
    if (s->items[i]->rank != first->rank || s->items[i]->dtype != first->dtype)
      return tn_k_fail(k, TN_MISMATCH, "item %lld has another rank or type", (long long)i);
    for (int d = 0; d < first->rank; d++)
      if ((new_axis || d != axis) && s->items[i]->dims[d] != first->dims[d])
        return tn_k_fail(k, TN_MISMATCH, "dim %d of item %lld is %lld, not %lld", d, (long long)i,
                         (long long)s->items[i]->dims[d], (long long)first->dims[d]);
    if (!new_axis && !tn_add_i64(dims[axis], s->items[i]->dims[axis], &dims[axis]))
      return tn_k_fail(k, TN_LIMIT, "too many elements");
  }
  TN_TRY(tn_k_out(k, 0, rank, dims));
  for (int d = 0; d < axis; d++) outer *= dims[d];
  for (int d = axis + 1; d < rank; d++) inner *= dims[d];
  for (int64_t i = 0; i < s->n_items; i++) {
    const int64_t n = new_axis ? 1 : s->items[i]->dims[axis];
    for (int64_t o = 0; o < outer; o++)
      tn_k_copy(first->dtype, k->out[0]->data, (o * dims[axis] + start) * inner, s->items[i]->data, o * n * inner,
                n * inner);
    start += n;
  }
  return TN_OK;
}

TN_KERNEL(optional, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 0, 1));
  k->out[0]->n_items = 0;
  return tn_k_in(k, 0) ? tn_k_item_copy(k, k->out[0], 0, k->in[0]) : TN_OK;
}

TN_KERNEL(optional_get_element, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 1));
  const tn_karg *const x = k->in[0];
  if (x->kind != TN_KARG_OPTIONAL) return tn_k_out_copy(k, 0, x);
  if (x->n_items == 0) return tn_k_fail(k, TN_MISMATCH, "the optional is empty");
  return tn_k_out_copy(k, 0, x->items[0]);
}

TN_KERNEL(optional_has_element, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 0, 1));
  const tn_karg *const x = tn_k_in(k, 0);
  TN_TRY(tn_k_out(k, 0, 0, NULL));
  tn_store_i64(TN_BOOL, k->out[0]->data, 0, x && (x->kind != TN_KARG_OPTIONAL || x->n_items > 0));
  return TN_OK;
}
