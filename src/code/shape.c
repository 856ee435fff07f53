/* The interpreter of shape code. */
#include "code/shape.h"

#include "base/half.h"

const tn_shape_row tn_shape_rows[TN_N_SHAPE_OPS] = {
#define TN_X(name, n, doc) {#name, n},
    TN_SHAPE_OPS(TN_X)
#undef TN_X
};

/* False when the result is no int64 (or the division is by zero). */
static bool shape_step(const tn_shape_ins *ins, const int64_t *s, int64_t *out) {
  const int64_t a = s[ins->a], b = s[ins->b], imm = ins->imm;
  switch ((tn_shape_opcode)ins->op) {
    case TN_SHAPE_CONST:
      *out = imm;
      return true;
    case TN_SHAPE_COPY:
      *out = a;
      return true;
    case TN_SHAPE_ADD:
      return tn_add_i64(a, b, out);
    case TN_SHAPE_MULI:
      return tn_mul_i64(a, imm, out);
    case TN_SHAPE_MUL:
      return tn_mul_i64(a, b, out);
    case TN_SHAPE_FLOORDIV:
      return tn_floordiv_i64(a, b, out);
    case TN_SHAPE_CEILDIV:
      return tn_ceildiv_i64(a, b, out);
    case TN_SHAPE_MOD:
      return tn_mod_i64(a, b, out);
    case TN_SHAPE_MIN:
      *out = a < b ? a : b;
      return true;
    case TN_SHAPE_MAX:
      *out = a > b ? a : b;
      return true;
    case TN_SHAPE_BCAST:
      *out = a == 1 ? b : a;
      return true;
    case TN_SHAPE_F32SCALE:
      return tn_f32scale_i64(a, tn_f32_of_bits((uint32_t)imm), out);
    case TN_SHAPE_EQ:
      *out = a == b;
      return true;
    case TN_SHAPE_LT:
      *out = a < b;
      return true;
    case TN_SHAPE_LE:
      *out = a <= b;
      return true;
    case TN_SHAPE_AND:
      *out = a && b;
      return true;
    case TN_SHAPE_OR:
      *out = a || b;
      return true;
    case TN_SHAPE_NOT:
      *out = !a;
      return true;
    case TN_SHAPE_SELECT:
      *out = a ? b : s[imm];
      return true;
    case TN_SHAPE_F32RATIO:
      return tn_f32ratio_i64(a, b, s[imm], out);
    case TN_SHAPE_JUMPZ:
    case TN_N_SHAPE_OPS:
      break;
  }
  return false;
}

tn_status tn_shape_run(const tn_shape_ins *ins, uint32_t n, int64_t *slots, uint32_t *out_at) {
  for (uint32_t i = 0; i < n; i++) {
    if (ins[i].op == TN_SHAPE_JUMPZ) {
      if (slots[ins[i].a] == 0) i += (uint32_t)ins[i].imm;
      continue;
    }
    int64_t v = 0;
    if (TN_UNLIKELY(!shape_step(&ins[i], slots, &v))) {
      const bool is_ratio = ins[i].op == TN_SHAPE_F32RATIO;
      const bool divides =
          is_ratio || ins[i].op == TN_SHAPE_FLOORDIV || ins[i].op == TN_SHAPE_CEILDIV || ins[i].op == TN_SHAPE_MOD;
      *out_at = i;
      return divides && slots[is_ratio ? (size_t)ins[i].imm : ins[i].b] == 0 ? TN_INVALID : TN_LIMIT;
    }
    slots[ins[i].dst] = v;
  }
  return TN_OK;
}
