/* The records of a program file. */
#include "code/codec.h"

static void codec_bytes(tn_codec *c, uint64_t *x, int n) {
  if (c->in) {
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)c->in[c->at + (size_t)i] << (8 * i);
    *x = v;
  } else if (c->out) {
    for (int i = 0; i < n; i++) c->out[c->at + (size_t)i] = (uint8_t)(*x >> (8 * i));
  }
  c->at += (size_t)n;
}

static void codec_u8(tn_codec *c, uint8_t *x) {
  uint64_t v = *x;
  codec_bytes(c, &v, 1);
  *x = (uint8_t)v;
}

static void codec_i8(tn_codec *c, int8_t *x) {
  uint8_t v = (uint8_t)*x;
  codec_u8(c, &v);
  *x = (int8_t)v;
}

void tn_codec_u32(tn_codec *c, uint32_t *x) {
  uint64_t v = *x;
  codec_bytes(c, &v, 4);
  *x = (uint32_t)v;
}

static void codec_i32(tn_codec *c, int32_t *x) {
  uint32_t v = (uint32_t)*x;
  tn_codec_u32(c, &v);
  *x = (int32_t)v;
}

void tn_codec_u64(tn_codec *c, uint64_t *x) { codec_bytes(c, x, 8); }

static void codec_i64(tn_codec *c, int64_t *x) {
  uint64_t v = (uint64_t)*x;
  tn_codec_u64(c, &v);
  *x = (int64_t)v;
}

static void codec_f64(tn_codec *c, double *x) {
  uint64_t v;
  memcpy(&v, x, sizeof v);
  tn_codec_u64(c, &v);
  memcpy(x, &v, sizeof v);
}

static void codec_span(tn_codec *c, tn_pspan *x) {
  tn_codec_u32(c, &x->first);
  tn_codec_u32(c, &x->n);
}

static void codec_str_write(tn_codec *c, tn_str s) {
  uint32_t at = s.ptr ? (uint32_t)c->text_at : UINT32_MAX, len = s.ptr ? (uint32_t)s.len : 0;
  tn_codec_u32(c, &at);
  tn_codec_u32(c, &len);
  if (!s.ptr) return;
  if (c->text_out) {
    if (s.len) memcpy(c->text_out + c->text_at, s.ptr, s.len);
    c->text_out[c->text_at + s.len] = 0;
  }
  c->text_at += s.len + 1;
}

static void codec_str(tn_codec *c, tn_str *x) {
  uint32_t at = 0, len = 0;
  if (!c->in) {
    codec_str_write(c, *x);
    return;
  }
  tn_codec_u32(c, &at);
  tn_codec_u32(c, &len);
  *x = (tn_str){NULL, 0};
  if (at == UINT32_MAX && len == 0) return;
  if ((uint64_t)at + len >= c->text_bytes || c->text[(size_t)at + len] != 0) {
    c->bad = true;
    return;
  }
  *x = (tn_str){c->text + at, len};
}

static void codec_z(tn_codec *c, const char **x) {
  tn_str s = c->in ? (tn_str){NULL, 0} : tn_str_of(*x);
  codec_str(c, &s);
  *x = s.ptr;
}

static void codec_info(tn_codec *c, void *record) {
  tn_info *x = record;
  tn_codec_u32(c, &x->n_slots);
  tn_codec_u32(c, &x->n_gears);
  tn_codec_u32(c, &x->gear_columns);
  tn_codec_u32(c, &x->gear_miss);
}

static void codec_source(tn_codec *c, void *record) {
  tn_psource *x = record;
  codec_z(c, &x->path);
  tn_codec_u64(c, &x->hash);
}

static void codec_gear_dim(tn_codec *c, void *record) {
  tn_pgear_dim *x = record;
  tn_codec_u32(c, &x->input);
  tn_codec_u32(c, &x->axis);
  tn_codec_u32(c, &x->column);
}

static void codec_symbol(tn_codec *c, void *record) {
  tn_psymbol *x = record;
  codec_z(c, &x->name);
  codec_i64(c, &x->min);
  codec_i64(c, &x->max);
  codec_i64(c, &x->multiple_of);
}

static void codec_ins(tn_codec *c, void *record) {
  tn_shape_ins *x = record;
  codec_u8(c, &x->op);
  tn_codec_u32(c, &x->dst);
  tn_codec_u32(c, &x->a);
  tn_codec_u32(c, &x->b);
  codec_i64(c, &x->imm);
}

static void codec_bind(tn_codec *c, void *record) {
  tn_pbind *x = record;
  tn_codec_u32(c, &x->slot);
  tn_codec_u32(c, &x->value);
  codec_i64(c, &x->index);
  codec_u8(c, &x->is_elem);
}

static void codec_check(tn_codec *c, void *record) {
  tn_pcheck *x = record;
  tn_codec_u32(c, &x->slot);
  codec_z(c, &x->text);
}

static void codec_segment(tn_codec *c, void *record) {
  tn_psegment *x = record;
  codec_span(c, &x->binds);
  codec_span(c, &x->code);
  codec_span(c, &x->checks);
}

static void codec_dim(tn_codec *c, void *record) { tn_codec_u32(c, record); }

static void codec_value(tn_codec *c, void *record) {
  tn_pvalue *x = record;
  codec_z(c, &x->name);
  codec_u8(c, &x->kind);
  codec_u8(c, &x->dtype);
  codec_u8(c, &x->store);
  codec_i8(c, &x->rank);
  tn_codec_u32(c, &x->region);
  codec_span(c, &x->dims);
  codec_i64(c, &x->index);
  tn_codec_u32(c, &x->part);
  tn_codec_u32(c, &x->source);
  tn_codec_u64(c, &x->offset);
  tn_codec_u64(c, &x->bytes);
  codec_span(c, &x->shape_elems);
}

static void codec_buffer(tn_codec *c, void *record) {
  tn_pbuffer *x = record;
  tn_codec_u32(c, &x->region);
  tn_codec_u32(c, &x->first);
  tn_codec_u32(c, &x->last);
  tn_codec_u32(c, &x->value);
  tn_codec_u32(c, &x->bytes);
  codec_i32(c, &x->under);
  codec_i32(c, &x->over);
}

static void codec_operand(tn_codec *c, void *record) { codec_i32(c, record); }

static void codec_attr(tn_codec *c, void *record) {
  tn_pattr *x = record;
  codec_z(c, &x->name);
  codec_u8(c, &x->kind);
  codec_i64(c, &x->i);
  codec_f64(c, &x->f);
  codec_span(c, &x->list);
  codec_str(c, &x->s);
  tn_codec_u32(c, &x->value);
}

static void codec_int(tn_codec *c, void *record) { codec_i64(c, record); }
static void codec_float(tn_codec *c, void *record) { codec_f64(c, record); }
static void codec_string(tn_codec *c, void *record) { codec_str(c, record); }

static void codec_pstep(tn_codec *c, void *record) {
  tn_pstep *x = record;
  codec_u8(c, &x->kind);
  codec_z(c, &x->kernel);
  codec_z(c, &x->label);
  codec_span(c, &x->in);
  codec_span(c, &x->out);
  codec_span(c, &x->attrs);
  codec_span(c, &x->regions);
  codec_i32(c, &x->segment);
}

static void codec_region(tn_codec *c, void *record) {
  tn_pregion *x = record;
  codec_span(c, &x->params);
  codec_span(c, &x->results);
  codec_span(c, &x->steps);
  codec_span(c, &x->values);
  codec_span(c, &x->buffers);
  tn_codec_u32(c, &x->segment);
  codec_i32(c, &x->parent_step);
  codec_u8(c, &x->is_placed);
}

static void codec_io(tn_codec *c, void *record) {
  tn_pio *x = record;
  codec_z(c, &x->name);
  tn_codec_u32(c, &x->value);
  codec_z(c, &x->type_text);
}

#define CODEC_TABLE(type, field, code) \
  { sizeof(type), offsetof(tn_program, field), offsetof(tn_program, n_##field), code }
const tn_table tn_tables[TN_N_TABLES] = {
    [TN_SECTION_INFO] = {sizeof(tn_info), 0, 0, codec_info},
    [TN_SECTION_SYMBOLS] = CODEC_TABLE(tn_psymbol, symbols, codec_symbol),
    [TN_SECTION_CODE] = CODEC_TABLE(tn_shape_ins, code, codec_ins),
    [TN_SECTION_BINDS] = CODEC_TABLE(tn_pbind, binds, codec_bind),
    [TN_SECTION_CHECKS] = CODEC_TABLE(tn_pcheck, checks, codec_check),
    [TN_SECTION_SEGMENTS] = CODEC_TABLE(tn_psegment, segments, codec_segment),
    [TN_SECTION_DIMS] = CODEC_TABLE(uint32_t, dim_slots, codec_dim),
    [TN_SECTION_VALUES] = CODEC_TABLE(tn_pvalue, values, codec_value),
    [TN_SECTION_BUFFERS] = CODEC_TABLE(tn_pbuffer, buffers, codec_buffer),
    [TN_SECTION_OPERANDS] = CODEC_TABLE(int32_t, operands, codec_operand),
    [TN_SECTION_ATTRS] = CODEC_TABLE(tn_pattr, attrs, codec_attr),
    [TN_SECTION_INTS] = CODEC_TABLE(int64_t, ints, codec_int),
    [TN_SECTION_FLOATS] = CODEC_TABLE(double, floats, codec_float),
    [TN_SECTION_STRINGS] = CODEC_TABLE(tn_str, strings, codec_string),
    [TN_SECTION_STEPS] = CODEC_TABLE(tn_pstep, steps, codec_pstep),
    [TN_SECTION_REGIONS] = CODEC_TABLE(tn_pregion, regions, codec_region),
    [TN_SECTION_INPUTS] = CODEC_TABLE(tn_pio, inputs, codec_io),
    [TN_SECTION_OUTPUTS] = CODEC_TABLE(tn_pio, outputs, codec_io),
    [TN_SECTION_GEAR_DIMS] = CODEC_TABLE(tn_pgear_dim, gear_dims, codec_gear_dim),
    [TN_SECTION_GEAR_SIZES] = CODEC_TABLE(int64_t, gear_sizes, codec_int),
    [TN_SECTION_SOURCES] = CODEC_TABLE(tn_psource, sources, codec_source),
};

size_t tn_codec_record_bytes(const tn_table *t) {
  _Alignas(16) unsigned char record[TN_CODEC_RECORD_MAX] = {0};
  tn_codec c = {0};
  t->code(&c, record);
  return c.at;
}
