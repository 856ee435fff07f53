/* Operands against ports. */
#include "kern/ports.h"

#include <string.h>

#define TN_PORTS(id, n_in, n_out, ...)                       \
  enum { PORTS_IN_##id = (n_in), PORTS_OUT_##id = (n_out) }; \
  static const tn_kport ports_##id[] = {__VA_ARGS__};
#define P(dtypes, flags, group, rank, rank_as) \
  { dtypes, flags, group, rank, rank_as }
#include "port_list.inc"
#undef TN_PORTS
#undef P

typedef struct ports_row {
  const tn_kport *ports;
  uint8_t n_in, n_out;
} ports_row;

static const ports_row ports_rows[] = {
/* as the table of kernels */
#define TN_KERNEL_ROW(id) {ports_##id, PORTS_IN_##id, PORTS_OUT_##id},
#include "kernel_list.inc"
#undef TN_KERNEL_ROW
};

tn_kports tn_kernel_ports(const tn_kernel *kernel) {
  const ports_row *const row = &ports_rows[tn_kernel_index(kernel->name)];
  return (tn_kports){row->ports, row->ports + row->n_in, row->n_in, row->n_out};
}

typedef struct ports_check {
  tn_dtype known[TN_KPORT_MAX_GROUPS]; /* element type by group */
  tn_koperand_fn operand;
  const void *self;
  int n_in;
  const char *side;
  tn_error *err;
} ports_check;

#define ports_fail(c, ...) tn_error_set((c)->err, TN_INVALID, __VA_ARGS__)

/* Of two that are to have one rank that of either may be known to the run alone. */
static bool ports_has_rank(const ports_check *c, const tn_kport *port, int rank) {
  if (port->rank) return rank == port->rank;
  if (!port->rank_as || port->rank_as > c->n_in || rank < 0) return true;
  const tn_koperand other = c->operand(c->self, port->rank_as - 1);
  return !other.is_present || other.rank < 0 || other.rank == rank;
}

static tn_status ports_one(ports_check *c, const tn_kport *port, const tn_koperand *o, int i) {
  const tn_dtype d = o->dtype;
  if (!(port->flags & TN_KPORT_ANY_KIND) && o->is_tensor == ((port->flags & TN_KPORT_SEQUENCE) != 0))
    return ports_fail(c, "%s %d is %s", c->side, i, o->is_tensor ? "a tensor" : "no tensor");
  if (d && port->dtypes && !(port->dtypes >> d & 1))
    return ports_fail(c, "%s %d cannot have element type %s", c->side, i, tn_dtype_name(d));
  if (o->is_tensor && !ports_has_rank(c, port, o->rank))
    return ports_fail(c, "%s %d cannot have rank %d", c->side, i, o->rank);
  if (!port->group || !d || (port->flags & TN_KPORT_MIXED)) return TN_OK;
  tn_dtype *const known = &c->known[port->group];
  if (*known && *known != d)
    return ports_fail(c, "%s %d has element type %s, another operand %s", c->side, i, tn_dtype_name(d),
                      tn_dtype_name(*known));
  *known = d;
  return TN_OK;
}

/* Operands first..first+n-1 against ports. */
static tn_status ports_side(ports_check *c, const tn_kport *ports, int n_ports, int first, int n) {
  const bool is_open = n_ports > 0 && (ports[n_ports - 1].flags & TN_KPORT_VARIADIC);
  for (int i = 0; i < n_ports || i < n; i++) {
    const tn_kport *const port = i < n_ports ? &ports[i] : is_open ? &ports[n_ports - 1] : NULL;
    const tn_koperand o = i < n ? c->operand(c->self, first + i) : (tn_koperand){false};
    if (!port) return ports_fail(c, "%s %d is one too many", c->side, i);
    if (!o.is_present && !(port->flags & TN_KPORT_OPTIONAL)) return ports_fail(c, "%s %d is missing", c->side, i);
    if (o.is_present) TN_TRY(ports_one(c, port, &o, i));
  }
  return TN_OK;
}

tn_status tn_kernel_check(const tn_kernel *kernel, tn_koperand_fn operand, const void *self, int n_in, int n_out,
                          tn_error *err) {
  const tn_kports ports = tn_kernel_ports(kernel);
  ports_check c = {.operand = operand, .self = self, .n_in = n_in, .side = "input", .err = err};
  TN_TRY(ports_side(&c, ports.in, ports.n_in, 0, n_in));
  c.side = "output";
  return ports_side(&c, ports.out, ports.n_out, n_in, n_out);
}
