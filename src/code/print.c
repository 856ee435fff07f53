/* A program as text for people. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "code/program.h"

typedef struct printer {
  const tn_program *p;
  void (*write)(void *arg, const char *text, size_t n);
  void *arg;
} printer;

static void print_z(const printer *o, const char *z) {
  if (z) o->write(o->arg, z, strlen(z));
}

/* For numbers and fixed words; names go through print_z, whatever their length. */
static void TN_PRINTF(2, 3) print_f(const printer *o, const char *fmt, ...) {
  char line[256];
  va_list ap;
  va_start(ap, fmt);
  const int n = vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  if (n > 0) o->write(o->arg, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1);
}

static void print_symbols(const printer *o) {
  for (uint32_t i = 0; i < o->p->n_symbols; i++) {
    const tn_psymbol *s = &o->p->symbols[i];
    print_f(o, "symbol s%u = ", i);
    print_z(o, s->name);
    print_f(o, " in [%" PRId64 ", ", s->min);
    if (s->max == INT64_MAX) {
      print_z(o, "inf)");
    } else {
      print_f(o, "%" PRId64 "]", s->max);
    }
    if (s->multiple_of != 1) print_f(o, " multiple of %" PRId64, s->multiple_of);
    print_z(o, "\n");
  }
}

static void print_ins(const printer *o, const tn_shape_ins *c) {
  const tn_shape_row *row = &tn_shape_rows[c->op];
  if (c->op != TN_SHAPE_JUMPZ) print_f(o, "s%u = ", c->dst);
  print_z(o, row->name);
  if (row->operands > 0) print_f(o, " s%u", c->a);
  if (row->operands > 1) print_f(o, " s%u", c->b);
  if (row->operands > 2) print_f(o, " s%" PRId64, c->imm);
  if (row->operands < 2 && c->op != TN_SHAPE_COPY && c->op != TN_SHAPE_NOT) print_f(o, " %" PRId64, c->imm);
}

static void print_segment(const printer *o, uint32_t number, const char *indent) {
  const tn_psegment *s = &o->p->segments[number];
  for (uint32_t i = 0; i < s->binds.n; i++) {
    const tn_pbind *b = &o->p->binds[s->binds.first + i];
    print_f(o, "%sbind s%u = %s %" PRId64 " of v%u\n", indent, b->slot, b->is_elem ? "element" : "dim", b->index,
            b->value);
  }
  for (uint32_t i = 0; i < s->code.n; i++) {
    print_z(o, indent);
    print_ins(o, &o->p->code[s->code.first + i]);
    print_z(o, "\n");
  }
  for (uint32_t i = 0; i < s->checks.n; i++) {
    const tn_pcheck *c = &o->p->checks[s->checks.first + i];
    print_f(o, "%scheck s%u: ", indent, c->slot);
    print_z(o, c->text);
    print_z(o, "\n");
  }
}

static void print_slots(const printer *o, tn_pspan list) {
  for (uint32_t i = 0; i < list.n; i++) print_f(o, "%ss%u", i ? "," : "", o->p->dim_slots[list.first + i]);
}

static void print_value(const printer *o, uint32_t i) {
  static const char *const stores[] = {"input", "param", "const", "buffer", "view", "late", "shape"};
  static const char *const kinds[] = {"", "sequence ", "optional ", "map "};
  const tn_pvalue *v = &o->p->values[i];
  print_f(o, "  v%u %s%s", i, kinds[v->kind], tn_dtype_name((tn_dtype)v->dtype));
  if (v->rank >= 0 && v->dims.n == (uint32_t)v->rank) {
    print_z(o, "[");
    print_slots(o, v->dims);
    print_z(o, "]");
  } else if (v->kind == 0) {
    print_f(o, "[rank %d]", v->rank);
  }
  print_f(o, " %s", stores[v->store]);
  if (v->store == TN_STORE_BUFFER) print_f(o, " b%" PRId64, v->index);
  if (v->store == TN_STORE_BUFFER && v->part) print_f(o, " operand %u", v->part - 1);
  if (v->store == TN_STORE_VIEW) print_f(o, " v%" PRId64, v->index);
  if (v->store == TN_STORE_CONST) print_f(o, " %" PRIu64 " bytes", v->bytes);
  if (v->source) print_f(o, " at %" PRIu64 " of f%u", v->offset, v->source - 1);
  if (v->store == TN_STORE_SHAPE) {
    print_z(o, " {");
    print_slots(o, v->shape_elems);
    print_z(o, "}");
  }
  print_z(o, " ");
  print_z(o, v->name);
  print_z(o, "\n");
}

static void print_operands(const printer *o, tn_pspan list, const char *prefix) {
  for (uint32_t i = 0; i < list.n; i++) {
    const int32_t v = o->p->operands[list.first + i];
    if (i) print_z(o, " ");
    if (v == TN_NO_INDEX) {
      print_z(o, "-");
    } else {
      print_f(o, "%s%d", prefix, v);
    }
  }
}

static void print_attr(const printer *o, const tn_pattr *a) {
  print_z(o, " ");
  print_z(o, a->name);
  switch ((tn_pattr_kind)a->kind) {
    case TN_PATTR_INT:
      print_f(o, "=%" PRId64, a->i);
      break;
    case TN_PATTR_FLOAT:
      print_f(o, "=%.9g", a->f);
      break;
    case TN_PATTR_STR:
      print_z(o, "=\"");
      if (a->s.len) o->write(o->arg, a->s.ptr, a->s.len);
      print_z(o, "\"");
      break;
    case TN_PATTR_INTS:
      for (uint32_t i = 0; i < a->list.n; i++) print_f(o, "%c%" PRId64, i ? ',' : '=', o->p->ints[a->list.first + i]);
      break;
    case TN_PATTR_FLOATS:
      for (uint32_t i = 0; i < a->list.n; i++) print_f(o, "%c%.9g", i ? ',' : '=', o->p->floats[a->list.first + i]);
      break;
    case TN_PATTR_STRS:
      print_f(o, "=%u strings", a->list.n);
      break;
    case TN_PATTR_TENSOR:
      print_f(o, "=v%u", a->value);
      break;
  }
}

static void print_step(const printer *o, uint32_t i) {
  static const char *const kinds[] = {"kernel", "if", "loop", "scan", "view", "sequence_map"};
  const tn_pstep *s = &o->p->steps[i];
  print_f(o, "  %u ", i);
  print_operands(o, s->out, "v");
  print_z(o, " = ");
  print_z(o, s->kind == TN_STEP_KERNEL ? s->kernel : kinds[s->kind]);
  print_z(o, " ");
  print_operands(o, s->in, "v");
  for (uint32_t a = 0; a < s->attrs.n; a++) print_attr(o, &o->p->attrs[s->attrs.first + a]);
  if (s->regions.n) print_z(o, " ");
  print_operands(o, s->regions, "region ");
  print_z(o, "  # ");
  print_z(o, s->label);
  print_z(o, "\n");
  if (s->segment != TN_NO_INDEX) print_segment(o, (uint32_t)s->segment, "    ");
}

static void print_region(const printer *o, uint32_t number) {
  const tn_pregion *r = &o->p->regions[number];
  print_f(o, "region %u(", number);
  print_operands(o, r->params, "v");
  print_z(o, ") -> ");
  print_operands(o, r->results, "v");
  print_z(o, "\n");
  print_segment(o, r->segment, "  ");
  for (uint32_t i = 0; i < r->values.n; i++) print_value(o, r->values.first + i);
  for (uint32_t i = 0; i < r->buffers.n; i++) {
    const tn_pbuffer *b = &o->p->buffers[r->buffers.first + i];
    print_f(o, "  b%u steps %u..%u, size of v%u\n", r->buffers.first + i, b->first, b->last, b->value);
  }
  for (uint32_t i = 0; i < r->steps.n; i++) print_step(o, r->steps.first + i);
}

static void print_ports(const printer *o, const char *word, const tn_pio *ports, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    print_f(o, "%s v%u ", word, ports[i].value);
    print_z(o, ports[i].name);
    print_z(o, " ");
    print_z(o, ports[i].type_text);
    print_z(o, "\n");
  }
}

void tn_program_print(const tn_program *p, void (*write)(void *arg, const char *text, size_t n), void *arg) {
  const printer o = {p, write, arg};
  print_f(&o, "program %d, %u slots\n", TN_PROGRAM_VERSION, p->n_slots);
  print_ports(&o, "input", p->inputs, p->n_inputs);
  print_ports(&o, "output", p->outputs, p->n_outputs);
  for (uint32_t i = 0; i < p->n_sources; i++) {
    print_f(&o, "weights f%u ", i);
    print_z(&o, p->sources[i].path);
    print_z(&o, "\n");
  }
  print_symbols(&o);
  for (uint32_t i = 0; i < p->n_regions; i++) print_region(&o, i);
}
