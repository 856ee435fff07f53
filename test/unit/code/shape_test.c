/* Shape code: every instruction, its edges, jumps. */
#include "code/shape.h"

#include "test.h"

static int64_t run_one(tn_shape_opcode op, int64_t a, int64_t b, int64_t c, int64_t imm, tn_status *status) {
  int64_t slots[4] = {-77, a, b, c};
  uint32_t at = 99;
  const tn_shape_ins ins = {
      .op = (uint8_t)op, .dst = 0, .a = 1, .b = 2, .imm = tn_shape_rows[op].operands == 3 ? 3 : imm};
  *status = tn_shape_run(&ins, 1, slots, &at);
  if (*status != TN_OK && at != 0) return -99;
  return slots[0];
}

typedef struct shape_case {
  tn_shape_opcode op;
  int64_t a, b, c, imm;
  tn_status status;
  int64_t result;
} shape_case;

TEST(every_instruction) {
  static const shape_case cases[] = {
      {TN_SHAPE_CONST, 0, 0, 0, 41, TN_OK, 41},
      {TN_SHAPE_COPY, 5, 0, 0, 0, TN_OK, 5},
      {TN_SHAPE_ADD, 5, -7, 0, 0, TN_OK, -2},
      {TN_SHAPE_ADD, INT64_MAX, 1, 0, 0, TN_LIMIT, -77},
      {TN_SHAPE_MULI, 5, 0, 0, 3, TN_OK, 15},
      {TN_SHAPE_MULI, INT64_MIN, 0, 0, -1, TN_LIMIT, -77},
      {TN_SHAPE_MUL, 1 << 20, 1 << 20, 0, 0, TN_OK, INT64_C(1) << 40},
      {TN_SHAPE_MUL, INT64_C(1) << 32, INT64_C(1) << 31, 0, 0, TN_LIMIT, -77},
      {TN_SHAPE_FLOORDIV, -7, 2, 0, 0, TN_OK, -4},
      {TN_SHAPE_FLOORDIV, 7, 0, 0, 0, TN_INVALID, -77},
      {TN_SHAPE_FLOORDIV, INT64_MIN, -1, 0, 0, TN_LIMIT, -77},
      {TN_SHAPE_CEILDIV, -7, 2, 0, 0, TN_OK, -3},
      {TN_SHAPE_CEILDIV, 7, 2, 0, 0, TN_OK, 4},
      {TN_SHAPE_MOD, -7, 3, 0, 0, TN_OK, 2},
      {TN_SHAPE_MOD, 7, -3, 0, 0, TN_OK, -2},
      {TN_SHAPE_MOD, 7, 0, 0, 0, TN_INVALID, -77},
      {TN_SHAPE_MIN, 3, -3, 0, 0, TN_OK, -3},
      {TN_SHAPE_MAX, 3, -3, 0, 0, TN_OK, 3},
      {TN_SHAPE_BCAST, 1, 9, 0, 0, TN_OK, 9},
      {TN_SHAPE_BCAST, 9, 1, 0, 0, TN_OK, 9},
      {TN_SHAPE_BCAST, 0, 1, 0, 0, TN_OK, 0},
      {TN_SHAPE_F32SCALE, 5, 0, 0, 0x40000000, TN_OK, 10}, /* 2.0f */
      {TN_SHAPE_F32SCALE, 3, 0, 0, 0x3f000000, TN_OK, 1},  /* 0.5f */
      {TN_SHAPE_F32SCALE, 3, 0, 0, 0x7f800000, TN_LIMIT, -77},
      {TN_SHAPE_EQ, 3, 3, 0, 0, TN_OK, 1},
      {TN_SHAPE_LT, 3, 3, 0, 0, TN_OK, 0},
      {TN_SHAPE_LE, 3, 3, 0, 0, TN_OK, 1},
      {TN_SHAPE_AND, 2, 4, 0, 0, TN_OK, 1},
      {TN_SHAPE_AND, 2, 0, 0, 0, TN_OK, 0},
      {TN_SHAPE_OR, 0, 4, 0, 0, TN_OK, 1},
      {TN_SHAPE_NOT, 4, 0, 0, 0, TN_OK, 0},
      {TN_SHAPE_SELECT, 1, 10, 20, 0, TN_OK, 10},
      {TN_SHAPE_SELECT, 0, 10, 20, 0, TN_OK, 20},
      {TN_SHAPE_F32RATIO, 3, 224, 64, 0, TN_OK, 11}, /* 10.5 */
      {TN_SHAPE_F32RATIO, 3, 224, 0, 0, TN_INVALID, -77},
      {TN_SHAPE_F32RATIO, INT64_MAX, 4, 2, 0, TN_LIMIT, -77},
  };
  bool seen[TN_N_SHAPE_OPS] = {false};
  for (size_t i = 0; i < TN_COUNT(cases); i++) {
    tn_status status;
    const shape_case *c = &cases[i];
    const int64_t r = run_one(c->op, c->a, c->b, c->c, c->imm, &status);
    if (!CHECK_EQ_I(status, c->status) || !CHECK_EQ_I(r, c->result)) printf("  case %zu\n", i);
    seen[c->op] = true;
  }
  for (int op = 0; op < TN_N_SHAPE_OPS; op++) CHECK(seen[op] || op == TN_SHAPE_JUMPZ);
}

/* The arm that divides by zero is jumped over. */
TEST(jump_guards_an_arm) {
  const tn_shape_ins ins[] = {
      {.op = TN_SHAPE_JUMPZ, .a = 0, .imm = 1},
      {.op = TN_SHAPE_FLOORDIV, .dst = 2, .a = 1, .b = 0},
      {.op = TN_SHAPE_CONST, .dst = 3, .imm = 7},
      {.op = TN_SHAPE_SELECT, .dst = 4, .a = 0, .b = 2, .imm = 3},
  };
  int64_t slots[5] = {0, 12, 0, 0, 0};
  uint32_t at;
  CHECK_EQ_I(tn_shape_run(ins, 4, slots, &at), TN_OK);
  CHECK_EQ_I(slots[4], 7);
  slots[0] = 4;
  CHECK_EQ_I(tn_shape_run(ins, 4, slots, &at), TN_OK);
  CHECK_EQ_I(slots[4], 3);
}

TEST(failure_says_where) {
  const tn_shape_ins ins[] = {
      {.op = TN_SHAPE_CONST, .dst = 0, .imm = INT64_MAX},
      {.op = TN_SHAPE_ADD, .dst = 1, .a = 0, .b = 0},
  };
  int64_t slots[2] = {0, 0};
  uint32_t at = 0;
  CHECK_EQ_I(tn_shape_run(ins, 2, slots, &at), TN_LIMIT);
  CHECK_EQ_I(at, 1);
}
