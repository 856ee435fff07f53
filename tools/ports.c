/* ports OUT: writes OUT, which says of each kernel what the schemas of the operators it serves say of its operands, so
 * that the run-time library, which holds no operators, can check programs (kern/ports.h). */
#include <stdio.h>
#include <string.h>

#include "ir/op.h"
#include "kern/ports.h"

_Static_assert((int)TN_KPORT_OPTIONAL == (int)TN_PORT_OPTIONAL && (int)TN_KPORT_VARIADIC == (int)TN_PORT_VARIADIC &&
                   (int)TN_KPORT_ANY_KIND == (int)TN_PORT_ANY_KIND && (int)TN_KPORT_SEQUENCE == (int)TN_PORT_SEQUENCE &&
                   (int)TN_KPORT_MIXED == (int)TN_PORT_MIXED,
               "flags of kernels' ports are those of operators'");

enum { PORTS_FLAGS = TN_KPORT_OPTIONAL | TN_KPORT_VARIADIC | TN_KPORT_ANY_KIND | TN_KPORT_SEQUENCE | TN_KPORT_MIXED };

typedef struct ports_row {
  tn_kport in[TN_MAX_PORTS], out[TN_MAX_PORTS];
  int n_in, n_out;
} ports_row;

static int ports_count(const tn_port *ports) {
  int n = 0;
  while (n < TN_MAX_PORTS && ports[n].name) n++;
  return n;
}

/* Groups are numbered from 1 in the order in which the ports name them. */
static uint8_t ports_group(const tn_op *op, const char *name) {
  const tn_port *const sides[2] = {op->in, op->out};
  const char *seen[2 * TN_MAX_PORTS];
  uint8_t n = 0;
  if (!name) return 0;
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < ports_count(sides[s]); i++) {
      const char *const same = sides[s][i].same;
      uint8_t g = 0;
      if (!same) continue;
      while (g < n && strcmp(seen[g], same) != 0) g++;
      if (g == n) seen[n++] = same;
      if (strcmp(same, name) == 0) return (uint8_t)(g + 1);
    }
  return 0;
}

static tn_kport ports_of(const tn_op *op, const tn_port *p) {
  const uint64_t all = TN_SET_ALL & ((UINT64_C(1) << TN_N_DTYPES) - 1), set = p->dtypes & all;
  return (tn_kport){.dtypes = set == all ? 0 : (uint32_t)set,
                    .flags = (uint8_t)(p->flags & PORTS_FLAGS),
                    .group = ports_group(op, p->same),
                    .rank = p->rank,
                    .rank_as = p->rank_as};
}

/* What operators of one kernel may not have otherwise: the row has one answer for it. */
static bool ports_agree(const ports_row *a, const ports_row *b) {
  for (int i = 0; i < a->n_in && i < b->n_in; i++)
    if (a->in[i].rank != b->in[i].rank || a->in[i].rank_as != b->in[i].rank_as || a->in[i].group != b->in[i].group)
      return false;
  return a->n_out == b->n_out && memcmp(a->out, b->out, (size_t)a->n_out * sizeof a->out[0]) == 0;
}

static bool ports_fit(const ports_row *row) {
  for (int i = 0; i < TN_MAX_PORTS; i++)
    if (row->in[i].group >= TN_KPORT_MAX_GROUPS || row->out[i].group >= TN_KPORT_MAX_GROUPS) return false;
  return true;
}

/* Of a kernel that serves another operator as well: an input that one of them lacks is optional. */
static void ports_join(ports_row *row, const ports_row *more) {
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

static ports_row ports_of_op(const tn_op *op) {
  ports_row row = {.n_in = ports_count(op->in), .n_out = ports_count(op->out)};
  for (int i = 0; i < row.n_in; i++) row.in[i] = ports_of(op, &op->in[i]);
  for (int i = 0; i < row.n_out; i++) row.out[i] = ports_of(op, &op->out[i]);
  return row;
}

static bool ports_serves(const char *kernel, int op) {
  return tn_op_at(op)->kernel && strcmp(tn_op_at(op)->kernel, kernel) == 0;
}

static void ports_put(FILE *file, const tn_kport *ports, int n) {
  for (int i = 0; i < n; i++)
    fprintf(file, ", P(0x%x, %d, %d, %d, %d)", ports[i].dtypes, ports[i].flags, ports[i].group, ports[i].rank,
            ports[i].rank_as);
}

/* The row of a kernel stands where the first operator that it serves does. */
static bool ports_put_kernel(FILE *file, int first) {
  const char *const kernel = tn_op_at(first)->kernel;
  for (int op = 0; op < first; op++)
    if (ports_serves(kernel, op)) return true;
  ports_row row = ports_of_op(tn_op_at(first));
  for (int op = first + 1; op < tn_op_count(); op++) {
    if (!ports_serves(kernel, op)) continue;
    const ports_row more = ports_of_op(tn_op_at(op));
    if (!ports_agree(&row, &more)) {
      fprintf(stderr, "ports: operators of kernel %s differ in ranks, groups or outputs\n", kernel);
      return false;
    }
    ports_join(&row, &more);
  }
  if (!ports_fit(&row)) {
    fprintf(stderr, "ports: kernel %s has more than %d groups of element types\n", kernel, TN_KPORT_MAX_GROUPS - 1);
    return false;
  }
  fprintf(file, "TN_PORTS(%s, %d, %d", kernel, row.n_in, row.n_out);
  ports_put(file, row.in, row.n_in);
  ports_put(file, row.out, row.n_out);
  fputs(")\n", file);
  return true;
}

int main(int argc, char **argv) {
  FILE *const file = argc == 2 ? fopen(argv[1], "w") : NULL;
  if (!file) {
    fputs("usage: ports OUT\n", stderr);
    return 1;
  }
  bool failed = false;
  for (int op = 0; op < tn_op_count(); op++)
    if (tn_op_at(op)->kernel && !ports_put_kernel(file, op)) failed = true;
  failed = ferror(file) != 0 || failed;
  return fclose(file) != 0 || failed;
}
