/* A program as bytes: a head, then the weights, which are not copied but pointed to. */
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
  uint32_t n_embedded;  /* constants in the weights */
  size_t string_bytes;  /* of those of strings */
  tn_bytes *parts;      /* one after another the whole program */
  size_t n_parts;
  void *memory; /* the parts, the head, constants of strings */
  size_t memory_bytes;
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
  size_t at = 0, bytes; /* the sum of string_bytes is at most `at` */
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
    e->n_embedded++;
    if (e->p->values[i].dtype == TN_STR) e->string_bytes += bytes;
  }
  e->bytes[TN_SECTION_WEIGHTS] = at;
  return true;
}

/* The constant whose bytes in the weights begin at `offset`; returns where its bytes end in `out`. */
static uint8_t *encode_strings(uint8_t *out, uint64_t offset, const tn_str *strings, size_t n) {
  tn_codec c = {.out = out};
  uint8_t *text = out + n * sizeof *strings;
  for (size_t i = 0; i < n; i++) {
    uint64_t at = offset + (uint64_t)(text - out), len = strings[i].len;
    tn_codec_u64(&c, &at);
    tn_codec_u64(&c, &len);
    if (len) memcpy(text, strings[i].ptr, strings[i].len);
    text += len;
  }
  return text;
}

static void encode_part(encoder *e, const void *bytes, size_t n) {
  if (n) e->parts[e->n_parts++] = (tn_bytes){bytes, n};
}

/* `strings` has room for the constants of strings. */
static void encode_weights(encoder *e, uint8_t *strings) {
  static const uint8_t zeros[TN_CODEC_ALIGN];
  for (uint32_t i = 0; i < e->p->n_values; i++) {
    const tn_pvalue *x = &e->p->values[i];
    if (x->store != TN_STORE_CONST || e->placed[i].source || x->bytes == 0) continue;
    const void *data = tn_program_data(e->p, i);
    size_t bytes = (size_t)x->bytes;
    if (x->dtype == TN_STR) {
      uint8_t *const end = encode_strings(strings, e->placed[i].offset, data, bytes / sizeof(tn_str));
      data = strings;
      bytes = (size_t)(end - strings);
      strings = end;
    }
    encode_part(e, data, bytes);
    encode_part(e, zeros, (TN_CODEC_ALIGN - bytes % TN_CODEC_ALIGN) % TN_CODEC_ALIGN);
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

/* Memory for the parts, and behind them the head (returned) and the constants of strings. */
static uint8_t *encode_memory(encoder *e, tn_allocator allocator) {
  const size_t head = e->offset[TN_SECTION_WEIGHTS];
  size_t n_parts, bytes;
  if (!tn_mul_size(e->n_embedded, 2, &n_parts) || !tn_mul_size(n_parts + 1, sizeof *e->parts, &bytes) ||
      !tn_add_size(bytes, head, &e->memory_bytes) || !tn_add_size(e->memory_bytes, e->string_bytes, &e->memory_bytes))
    return NULL;
  e->parts = e->memory = tn_alloc(allocator, e->memory_bytes);
  if (!e->memory) return NULL;
  return memset((uint8_t *)e->memory + bytes, 0, head);
}

static tn_status encode_all(encoder *e, tn_allocator allocator, tn_error *err) {
  tn_codec c = {0};
  if (!encode_places(e)) return tn_error_set(err, TN_LIMIT, "the program is too large");
  encode_tables(e, &c, NULL);
  e->bytes[TN_SECTION_TEXT] = c.text_at;
  if (!encode_layout(e)) return tn_error_set(err, TN_LIMIT, "the program is too large");
  uint8_t *const head = encode_memory(e, allocator);
  if (!head) return tn_error_set(err, TN_OOM, "no memory to write a program");
  c = (tn_codec){.text_out = head + e->offset[TN_SECTION_TEXT]};
  encode_tables(e, &c, head);
  encode_header(e, head);
  encode_part(e, head, e->offset[TN_SECTION_WEIGHTS]);
  encode_weights(e, head + e->offset[TN_SECTION_WEIGHTS]);
  return TN_OK;
}

/* On success the caller ends with encode_drop. */
static tn_status encode_begin(encoder *e, tn_allocator allocator, tn_error *err) {
  const size_t placed_bytes = (size_t)e->p->n_values * sizeof *e->placed;
  e->placed = tn_alloc(allocator, placed_bytes);
  if (!e->placed) return tn_error_set(err, TN_OOM, "no memory to write a program");
  const tn_status status = encode_all(e, allocator, err);
  tn_free(allocator, e->placed, placed_bytes);
  return status;
}

static void encode_drop(encoder *e, tn_allocator allocator) { tn_free(allocator, e->memory, e->memory_bytes); }

tn_status tn_program_encode(const tn_program *p, tn_allocator allocator, const tn_psource *sources, tn_bytes *out,
                            tn_error *err) {
  encoder e = {.p = p, .sources = sources};
  TN_TRY(encode_begin(&e, allocator, err));
  uint8_t *const bytes = tn_alloc(allocator, e.total);
  *out = (tn_bytes){bytes, e.total};
  for (size_t i = 0, at = 0; bytes && i < e.n_parts; at += e.parts[i++].len)
    memcpy(bytes + at, e.parts[i].ptr, e.parts[i].len);
  encode_drop(&e, allocator);
  return bytes ? TN_OK : tn_error_set(err, TN_OOM, "no memory for a program of %zu bytes", e.total);
}

tn_status tn_program_write(const tn_program *p, tn_allocator allocator, const tn_psource *sources, const char *path,
                           tn_error *err) {
  encoder e = {.p = p, .sources = sources};
  TN_TRY(encode_begin(&e, allocator, err));
  const tn_status status = tn_file_write(path, e.parts, e.n_parts, err);
  encode_drop(&e, allocator);
  return status;
}
