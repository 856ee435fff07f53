/* A program as one block of bytes. */
#include "base/hash.h"
#include "code/codec.h"

typedef struct encode_place {
  uint32_t source;
  uint64_t offset;
} encode_place;

typedef struct encoder {
  const tn_program *p;
  const tn_psource *sources; /* one for each of p->files, or NULL */
  size_t offset[TN_N_SECTIONS], bytes[TN_N_SECTIONS];
  uint32_t count[TN_N_SECTIONS];
  size_t total;
  encode_place *placed; /* of the constant of each value */
} encoder;

/* Table t of the program: its records and their number. */
static const char *encode_table(const encoder *e, int t, const tn_info *info, uint32_t *out_n) {
  const char *records;
  if (t == TN_SECTION_INFO) {
    *out_n = 1;
    return (const char *)info;
  }
  if (t == TN_SECTION_SOURCES) {
    *out_n = e->sources ? e->p->n_files : 0;
    return (const char *)e->sources;
  }
  memcpy(out_n, (const char *)e->p + tn_tables[t].count, sizeof *out_n);
  memcpy(&records, (const char *)e->p + tn_tables[t].array, sizeof records);
  return records;
}

static void encode_record(const encoder *e, tn_codec *c, int t, const char *record, uint32_t i) {
  _Alignas(16) unsigned char copy[TN_CODEC_RECORD_MAX];
  memcpy(copy, record, tn_tables[t].size);
  if (t == TN_SECTION_VALUES && e->placed) {
    tn_pvalue *x = (tn_pvalue *)(void *)copy;
    x->source = e->placed[i].source;
    if (x->store == TN_STORE_CONST) x->offset = e->placed[i].offset;
  }
  tn_tables[t].code(c, copy);
}

static void encode_tables(encoder *e, tn_codec *c, uint8_t *out) {
  const tn_info info = {e->p->n_slots, e->p->n_gears, e->p->gear_columns, e->p->gear_miss};
  for (int t = 0; t < TN_N_TABLES; t++) {
    const char *records = encode_table(e, t, &info, &e->count[t]);
    c->out = out ? out + e->offset[t] : NULL;
    c->at = 0;
    for (uint32_t i = 0; i < e->count[t]; i++) encode_record(e, c, t, records + i * tn_tables[t].size, i);
    e->bytes[t] = c->at;
  }
}

/* Bytes of a constant in the file. */
static bool encode_const_bytes(const tn_program *p, uint32_t value, size_t *out) {
  const tn_pvalue *x = &p->values[value];
  *out = (size_t)x->bytes;
  if (x->dtype != TN_STR) return true;
  const tn_str *strings = tn_program_data(p, value);
  for (size_t i = 0; i < x->bytes / sizeof *strings; i++)
    if (!tn_add_size(*out, strings[i].len, out)) return false;
  return true;
}

/* Gives every constant its place in the weights or in a file. */
static bool encode_places(encoder *e) {
  size_t at = 0, bytes;
  uint32_t hint = 0;
  for (uint32_t i = 0; i < e->p->n_values; i++) {
    e->placed[i] = (encode_place){0, at};
    if (e->p->values[i].store != TN_STORE_CONST) continue;
    const int64_t file = e->sources ? tn_program_find_file(e->p, i, &hint) : -1;
    if (file >= 0) {
      const uint8_t *const data = tn_program_data(e->p, i);
      e->placed[i] = (encode_place){(uint32_t)file + 1, (uint64_t)(data - e->p->files[file]->bytes.ptr)};
      continue;
    }
    if (!encode_const_bytes(e->p, i, &bytes) || !tn_add_size(at, bytes, &at) || !tn_align_size(at, TN_CODEC_ALIGN, &at))
      return false;
  }
  e->bytes[TN_SECTION_WEIGHTS] = at;
  return true;
}

static void encode_strings(uint8_t *weights, uint64_t offset, const tn_str *strings, size_t n) {
  tn_codec c = {.out = weights + offset};
  uint64_t at = offset + n * sizeof(tn_str);
  for (size_t i = 0; i < n; i++) {
    uint64_t len = strings[i].len;
    tn_codec_u64(&c, &at);
    tn_codec_u64(&c, &len);
    if (len) memcpy(weights + at, strings[i].ptr, strings[i].len);
    at += len;
  }
}

static void encode_weights(const encoder *e, uint8_t *weights) {
  for (uint32_t i = 0; i < e->p->n_values; i++) {
    const tn_pvalue *x = &e->p->values[i];
    if (x->store != TN_STORE_CONST || e->placed[i].source || x->bytes == 0) continue;
    const void *data = tn_program_data(e->p, i);
    if (x->dtype == TN_STR) {
      encode_strings(weights, e->placed[i].offset, data, (size_t)(x->bytes / sizeof(tn_str)));
    } else {
      memcpy(weights + e->placed[i].offset, data, (size_t)x->bytes);
    }
  }
}

static bool encode_layout(encoder *e) {
  size_t at = TN_CODEC_HEADER + (size_t)TN_N_SECTIONS * TN_CODEC_ENTRY;
  for (int s = 0; s < TN_N_SECTIONS; s++) {
    if (!tn_align_size(at, s == TN_SECTION_WEIGHTS ? TN_CODEC_ALIGN : 8, &at)) return false;
    e->offset[s] = at;
    if (!tn_add_size(at, e->bytes[s], &at)) return false;
  }
  e->total = at;
  return e->bytes[TN_SECTION_TEXT] < UINT32_MAX;
}

static void encode_header(const encoder *e, uint8_t *out) {
  tn_codec c = {.out = out, .at = TN_CODEC_HEADER};
  for (uint32_t s = 0; s < TN_N_SECTIONS; s++) {
    uint32_t number = s, count = e->count[s];
    uint64_t offset = e->offset[s], bytes = e->bytes[s];
    tn_codec_u32(&c, &number);
    tn_codec_u32(&c, &count);
    tn_codec_u64(&c, &offset);
    tn_codec_u64(&c, &bytes);
  }
  uint32_t version = TN_PROGRAM_VERSION, sections = TN_N_SECTIONS;
  uint64_t total = e->total;
  uint64_t hash = tn_hash_bytes(out + TN_CODEC_HEADER, e->offset[TN_SECTION_WEIGHTS] - TN_CODEC_HEADER, 0);
  memcpy(out, "TENONPRG", 8);
  c.at = 8;
  tn_codec_u32(&c, &version);
  tn_codec_u32(&c, &sections);
  tn_codec_u64(&c, &total);
  tn_codec_u64(&c, &hash);
}

static tn_status encode_all(encoder *e, tn_allocator allocator, tn_bytes *out, tn_error *err) {
  tn_codec c = {0};
  if (!encode_places(e)) return tn_error_set(err, TN_LIMIT, "the program is too large");
  encode_tables(e, &c, NULL);
  e->bytes[TN_SECTION_TEXT] = c.text_at;
  if (!encode_layout(e)) return tn_error_set(err, TN_LIMIT, "the program is too large");
  uint8_t *bytes = tn_alloc(allocator, e->total);
  if (!bytes) return tn_error_set(err, TN_OOM, "no memory for a program of %zu bytes", e->total);
  memset(bytes, 0, e->total);
  c = (tn_codec){.text_out = bytes + e->offset[TN_SECTION_TEXT]};
  encode_tables(e, &c, bytes);
  encode_weights(e, bytes + e->offset[TN_SECTION_WEIGHTS]);
  encode_header(e, bytes);
  *out = (tn_bytes){bytes, e->total};
  return TN_OK;
}

tn_status tn_program_encode(const tn_program *p, tn_allocator allocator, const tn_psource *sources, tn_bytes *out,
                            tn_error *err) {
  encoder e = {.p = p, .sources = sources};
  const size_t placed_bytes = (size_t)p->n_values * sizeof *e.placed;
  e.placed = tn_alloc(allocator, placed_bytes);
  if (!e.placed) return tn_error_set(err, TN_OOM, "no memory to write a program");
  const tn_status status = encode_all(&e, allocator, out, err);
  tn_free(allocator, e.placed, placed_bytes);
  return status;
}
