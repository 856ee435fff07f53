/* kern/ports.def says of every kernel what the schema of its operator says: a row that differs is printed as it must
 * be. Also what a kernel refuses. */
#include "kern/ports.h"

#include <string.h>

#include "ir/op.h"
#include "test.h"

_Static_assert((int)TN_KPORT_OPTIONAL == (int)TN_PORT_OPTIONAL && (int)TN_KPORT_VARIADIC == (int)TN_PORT_VARIADIC &&
                   (int)TN_KPORT_ANY_KIND == (int)TN_PORT_ANY_KIND && (int)TN_KPORT_SEQUENCE == (int)TN_PORT_SEQUENCE &&
                   (int)TN_KPORT_MIXED == (int)TN_PORT_MIXED,
               "flags of kernels' ports are those of operators'");

enum { PORTS_FLAGS = 31 };

static int count_ports(const tn_port *ports) {
  int n = 0;
  while (n < TN_MAX_PORTS && ports[n].name) n++;
  return n;
}

static uint8_t group_of(const tn_op *op, const char *name) {
  const tn_port *const sides[2] = {op->in, op->out};
  const char *seen[2 * TN_MAX_PORTS];
  uint8_t n = 0;
  if (!name) return 0;
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < count_ports(sides[s]); i++) {
      const char *const same = sides[s][i].same;
      uint8_t g = 0;
      if (!same) continue;
      while (g < n && strcmp(seen[g], same) != 0) g++;
      if (g == n) seen[n++] = same;
      if (strcmp(same, name) == 0) return (uint8_t)(g + 1);
    }
  return 0;
}

static tn_kport port_of(const tn_op *op, const tn_port *p) {
  const uint64_t all = TN_SET_ALL & ((UINT64_C(1) << TN_N_DTYPES) - 1), set = p->dtypes & all;
  return (tn_kport){.dtypes = set == all ? 0 : (uint32_t)set,
                    .flags = (uint8_t)(p->flags & PORTS_FLAGS),
                    .group = group_of(op, p->same),
                    .rank = p->rank,
                    .rank_as = p->rank_as};
}

typedef struct ports_row {
  tn_kport in[TN_MAX_PORTS], out[TN_MAX_PORTS];
  int n_in, n_out, n_ops;
} ports_row;

/* Of a kernel that serves another operator as well: an input that one of them lacks is optional. */
static void join_inputs(ports_row *row, const ports_row *more) {
  for (int i = 0; i < TN_MAX_PORTS; i++) {
    const bool has = i < row->n_in, gets = i < more->n_in;
    if (!has && gets) row->in[i] = more->in[i];
    if (has != gets) row->in[i].flags |= TN_KPORT_OPTIONAL;
    if (!has || !gets) continue;
    row->in[i].dtypes = row->in[i].dtypes && more->in[i].dtypes ? row->in[i].dtypes | more->in[i].dtypes : 0;
    row->in[i].flags |= more->in[i].flags;
  }
  if (more->n_in > row->n_in) row->n_in = more->n_in;
}

static void add_op(ports_row *row, const tn_op *op) {
  ports_row one = {.n_in = count_ports(op->in), .n_out = count_ports(op->out), .n_ops = 1};
  for (int i = 0; i < one.n_in; i++) one.in[i] = port_of(op, &op->in[i]);
  for (int i = 0; i < one.n_out; i++) one.out[i] = port_of(op, &op->out[i]);
  if (row->n_ops++ == 0)
    *row = one;
  else
    join_inputs(row, &one);
}

static bool is_row(const tn_kports *have, const ports_row *want) {
  return have->n_in == want->n_in && have->n_out == want->n_out &&
         memcmp(have->in, want->in, (size_t)want->n_in * sizeof want->in[0]) == 0 &&
         memcmp(have->out, want->out, (size_t)want->n_out * sizeof want->out[0]) == 0;
}

static void print_ports(const tn_kport *ports, int n) {
  for (int i = 0; i < n; i++)
    printf(", P(0x%x, %d, %d, %d, %d)", ports[i].dtypes, ports[i].flags, ports[i].group, ports[i].rank,
           ports[i].rank_as);
}

TEST(kernels_have_the_ports_of_operators) {
  for (int i = 0; i < tn_kernel_count(); i++) {
    const tn_kernel *const kernel = tn_kernel_at(i);
    const tn_kports have = tn_kernel_ports(kernel);
    ports_row want = {.n_ops = 0};
    for (int o = 0; o < tn_op_count(); o++)
      if (tn_op_at(o)->kernel && strcmp(tn_op_at(o)->kernel, kernel->name) == 0) add_op(&want, tn_op_at(o));
    CHECK(want.n_ops > 0);
    if (CHECK(is_row(&have, &want))) continue;
    printf("TN_PORTS(%s, %d, %d", kernel->name, want.n_in, want.n_out);
    print_ports(want.in, want.n_in);
    print_ports(want.out, want.n_out);
    printf(")\n");
  }
}

static tn_koperand operand_of(const void *self, int i) { return ((const tn_koperand *)self)[i]; }
static tn_status check(const char *kernel, const tn_koperand *operands, int n_in, int n_out, const char *text) {
  tn_error err = {TN_OK, ""};
  const tn_status status = tn_kernel_check(tn_kernel_find(kernel), operand_of, operands, n_in, n_out, &err);
  if (text) CHECK_HAS(err.text, text);
  return status;
}
#define TENSOR(dtype, rank) \
  { true, true, (dtype), (rank) }

TEST(operands_of_another_kind_are_refused) {
  const tn_koperand good[] = {TENSOR(TN_F32, 2), TENSOR(TN_F32, 2), TENSOR(TN_F32, 2)};
  CHECK_EQ_I(check("add", good, 2, 1, NULL), TN_OK);
  CHECK_EQ_I(check("add", good, 1, 1, "input 1 is missing"), TN_INVALID);
  CHECK_EQ_I(check("add", good, 2, 0, "output 0 is missing"), TN_INVALID);
  CHECK_EQ_I(check("relu", good, 2, 1, "input 1 is one too many"), TN_INVALID);
  const tn_koperand absent[] = {TENSOR(TN_F32, 2), {false, true, TN_F32, 2}, TENSOR(TN_F32, 2)};
  CHECK_EQ_I(check("add", absent, 2, 1, "input 1 is missing"), TN_INVALID);
  CHECK_EQ_I(check("clip", absent, 2, 1, NULL), TN_OK);
  CHECK_EQ_I(check("concat", absent, 2, 1, "input 1 is missing"), TN_INVALID);
  const tn_koperand mixed[] = {TENSOR(TN_F32, 2), TENSOR(TN_F64, 2), TENSOR(TN_F32, 2)};
  CHECK_EQ_I(check("add", mixed, 2, 1, "input 1 has element type f64, another operand f32"), TN_INVALID);
  const tn_koperand strings[] = {TENSOR(TN_STR, 2), TENSOR(TN_STR, 2), TENSOR(TN_STR, 2)};
  CHECK_EQ_I(check("add", strings, 2, 1, "input 0 cannot have element type str"), TN_INVALID);
  const tn_koperand sequence[] = {{true, false, TN_F32, -1}, TENSOR(TN_F32, 2), TENSOR(TN_F32, 2)};
  CHECK_EQ_I(check("add", sequence, 2, 1, "input 0 is no tensor"), TN_INVALID);
  CHECK_EQ_I(check("sequence_length", good, 1, 1, "input 0 is a tensor"), TN_INVALID);
  const tn_koperand ranks[] = {TENSOR(TN_F32, 4), TENSOR(TN_F32, 3), TENSOR(TN_F32, 4)};
  CHECK_EQ_I(check("conv", ranks, 2, 1, "input 0 cannot have rank 4"), TN_INVALID);
}
