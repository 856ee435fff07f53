/* Element types and tensors in words. */
#include "cli/types.h"

#include <inttypes.h>

static const struct {
  int bits;
  tn_type_class cls;
} types_rows[TN_N_DTYPES] = {
#define TN_DTYPE(name, onnx, text, bits, cls, npy) [TN_##name] = {bits, TN_TYPE_##cls},
#include "tenon/dtype.def"
#undef TN_DTYPE
};

tn_type_class tn_type_class_of(tn_dtype d) { return (int)d > 0 && d < TN_N_DTYPES ? types_rows[d].cls : TN_TYPE_NONE; }
int tn_type_bits(tn_dtype d) { return (int)d > 0 && d < TN_N_DTYPES ? types_rows[d].bits : 0; }

int64_t tn_tensor_count(const tn_tensor *t) {
  int64_t count = 1;
  for (int i = 0; i < t->rank; i++)
    if (__builtin_mul_overflow(count, t->dims[i], &count)) count = 0; /* possible beside a dim of 0 only */
  return count;
}

const char *tn_tensor_type_text(const tn_tensor *t) {
  if (t->kind == TN_KIND_SEQUENCE) return tn_cli_print("seq(%zu)", t->n_items);
  if (t->kind == TN_KIND_MAP) {
    const char *const keys = tn_dtype_text(t->items[0].dtype);
    return tn_cli_print("map(%s, %s) of %" PRId64, keys, tn_dtype_text(t->items[1].dtype), t->items[0].dims[0]);
  }
  if (t->kind == TN_KIND_OPTIONAL) {
    const bool is_simple = t->n_items > 0 && t->items[0].kind != TN_KIND_OPTIONAL;
    return tn_cli_print("optional(%s)", is_simple ? tn_tensor_type_text(&t->items[0]) : t->n_items ? "optional" : "");
  }
  const char *text = tn_cli_print("%s[", tn_dtype_text(t->dtype));
  for (int i = 0; i < t->rank; i++) text = tn_cli_print("%s%s%" PRId64, text, i ? "," : "", t->dims[i]);
  return tn_cli_print("%s]", text);
}
