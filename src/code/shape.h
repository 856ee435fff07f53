/* Shape code: the small integer program that turns symbols into sizes. One instruction writes one slot; every operand
 * slot was written before. Checked arithmetic: an overflow or a division by zero is a status, never a wrong size. */
#ifndef TN_CODE_SHAPE_H
#define TN_CODE_SHAPE_H

#include "base/checked.h"
#include "base/status.h"

/* Rows: TN_SHAPE_OP(NAME, operands, "meaning"); the order is the encoding. */
#define TN_SHAPE_OPS(X)                                                             \
  X(CONST, 0, "dst = imm")                                                          \
  X(COPY, 1, "dst = a")                                                             \
  X(ADD, 2, "dst = a + b")                                                          \
  X(MULI, 1, "dst = a * imm")                                                       \
  X(MUL, 2, "dst = a * b")                                                          \
  X(FLOORDIV, 2, "dst = floor(a / b)")                                              \
  X(CEILDIV, 2, "dst = ceil(a / b)")                                                \
  X(MOD, 2, "dst = a - b * floor(a / b)")                                           \
  X(MIN, 2, "dst = min(a, b)")                                                      \
  X(MAX, 2, "dst = max(a, b)")                                                      \
  X(BCAST, 2, "dst = a == 1 ? b : a; that they agree is a check's task")            \
  X(F32SCALE, 1, "dst = floor(float32(a) * bits(imm))")                             \
  X(EQ, 2, "dst = a == b")                                                          \
  X(LT, 2, "dst = a < b")                                                           \
  X(LE, 2, "dst = a <= b")                                                          \
  X(AND, 2, "dst = a && b")                                                         \
  X(OR, 2, "dst = a || b")                                                          \
  X(NOT, 1, "dst = !a")                                                             \
  X(SELECT, 3, "dst = a ? b : c")                                                   \
  X(JUMPZ, 1, "if a == 0 skip the next imm instructions (guards an arm of select)") \
  X(F32RATIO, 3, "dst = float32(a) * (float32(b) / float32(c)) to the nearest integer, halves up")

typedef enum tn_shape_opcode {
#define TN_X(name, n, doc) TN_SHAPE_##name,
  TN_SHAPE_OPS(TN_X)
#undef TN_X
      TN_N_SHAPE_OPS
} tn_shape_opcode;

typedef struct tn_shape_ins {
  uint8_t op;
  uint8_t pad[3];
  uint32_t dst, a, b; /* unused ones are 0 */
  int64_t imm;        /* of three operands: slot c */
} tn_shape_ins;

/* Rows by opcode: name and number of operand slots (a, b, then imm). */
typedef struct tn_shape_row {
  const char *name;
  int operands;
} tn_shape_row;
extern const tn_shape_row tn_shape_rows[TN_N_SHAPE_OPS];

/* Runs n verified instructions over the slots. LIMIT on overflow, INVALID on division by zero; *out_at = instruction.
 */
TN_MUST_CHECK tn_status tn_shape_run(const tn_shape_ins *ins, uint32_t n, int64_t *slots, uint32_t *out_at);

#endif
