/* Maps made and taken apart. */
#include "kern/move.h"

TN_KERNEL(zip_map, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 2, 1));
  const tn_karg *const x = k->in[0], *const keys = k->in[1];
  if (x->kind != TN_KARG_TENSOR || keys->kind != TN_KARG_TENSOR || k->out[0]->kind != TN_KARG_SEQUENCE)
    return tn_k_fail(k, TN_INTERNAL, "zip_map makes a sequence of tensors");
  if (x->rank < 1 || x->rank > 2 || keys->rank != 1 || keys->count != x->dims[x->rank - 1])
    return tn_k_fail(k, TN_MISMATCH, "%lld keys for another number of columns", (long long)keys->count);
  const int64_t rows = x->rank == 2 ? x->dims[0] : 1;
  k->out[0]->n_items = 0;
  for (int64_t i = 0; i < rows; i++) {
    tn_karg *map, *values;
    TN_TRY(tn_k_item(k, k->out[0], i, TN_DTYPE_NONE, -1, NULL, &map));
    map->kind = TN_KARG_MAP;
    TN_TRY(tn_k_item_copy(k, map, 0, keys));
    TN_TRY(tn_k_item(k, map, 1, x->dtype, 1, &keys->count, &values));
    tn_k_copy(x->dtype, values->data, 0, x->data, i * keys->count, keys->count);
  }
  return TN_OK;
}

TN_KERNEL(map_split, TN_K_SIZES) {
  TN_TRY(tn_k_need(k, 1, 0));
  const tn_karg *const map = k->in[0];
  if (map->kind != TN_KARG_MAP || map->n_items != 2) return tn_k_fail(k, TN_MISMATCH, "input 0 is no map");
  for (int i = 0; i < 2; i++) {
    const tn_karg *const part = map->items[i], *const out = tn_k_outp(k, i);
    if (part->kind != TN_KARG_TENSOR || part->rank != 1 || part->count != map->items[0]->count)
      return tn_k_fail(k, TN_MISMATCH, "a map has not one value for each key");
    if (out && out->dtype != part->dtype)
      return tn_k_fail(k, TN_MISMATCH, "the %s of the map are %s, expected %s", i ? "values" : "keys",
                       tn_dtype_name(part->dtype), tn_dtype_name(out->dtype));
    TN_TRY(tn_k_out_copy(k, i, part));
  }
  return TN_OK;
}
