/* Untrusted bytes to a program. Records are copied into one block of memory, text and weights stay where they are. */
#include "base/hash.h"
#include "code/codec.h"

typedef struct decoder {
  tn_bytes bytes;
  const char *folder;    /* of the sources, or NULL */
  tn_file *const *files; /* the sources, n_files of them, or NULL: they are opened */
  uint32_t n_files;
  uint64_t offset[TN_N_SECTIONS], size[TN_N_SECTIONS];
  uint32_t count[TN_N_SECTIONS];
  size_t at[TN_N_TABLES];                                      /* where a table goes in the block */
  size_t external_at, strings_at, files_at, extents_at, total; /* the other parts of the block */
  tn_error *err;
} decoder;

#define decode_fail(d, ...) tn_error_set((d)->err, TN_INVALID, __VA_ARGS__)

static bool decode_is_little_endian(void) {
  const uint16_t one = 1;
  uint8_t low;
  memcpy(&low, &one, 1);
  return low == 1;
}

static tn_status decode_section(decoder *d, tn_codec *c, uint32_t s, uint64_t *end) {
  uint32_t number;
  tn_codec_u32(c, &number);
  tn_codec_u32(c, &d->count[s]);
  tn_codec_u64(c, &d->offset[s]);
  tn_codec_u64(c, &d->size[s]);
  if (number != s || d->offset[s] < *end || d->offset[s] > d->bytes.len || d->size[s] > d->bytes.len - d->offset[s])
    return decode_fail(d, "the program file is damaged: section %u", s);
  *end = d->offset[s] + d->size[s];
  if (s < TN_N_TABLES && (uint64_t)d->count[s] * tn_codec_record_bytes(&tn_tables[s]) != d->size[s])
    return decode_fail(d, "the program file is damaged: section %u has %u records", s, d->count[s]);
  return TN_OK;
}

static tn_status decode_header(decoder *d) {
  uint32_t version, sections;
  uint64_t total, hash, end = TN_CODEC_HEADER + TN_N_SECTIONS * TN_CODEC_ENTRY;
  if (d->bytes.len < end || memcmp(d->bytes.ptr, "TENONPRG", 8) != 0) return decode_fail(d, "this is no Tenon program");
  tn_codec c = {.in = d->bytes.ptr, .at = 8};
  tn_codec_u32(&c, &version);
  tn_codec_u32(&c, &sections);
  tn_codec_u64(&c, &total);
  tn_codec_u64(&c, &hash);
  if (version != TN_PROGRAM_VERSION)
    return tn_error_set(d->err, TN_UNSUPPORTED, "program format %u; this version reads %d", version,
                        TN_PROGRAM_VERSION);
  if (total != d->bytes.len)
    return decode_fail(d, "the program file has %zu bytes, but should have %llu", d->bytes.len,
                       (unsigned long long)total);
  if (sections != TN_N_SECTIONS) return decode_fail(d, "the program file is damaged: %u sections", sections);
  c.at = TN_CODEC_HEADER;
  for (uint32_t s = 0; s < TN_N_SECTIONS; s++) TN_TRY(decode_section(d, &c, s, &end));
  if (d->offset[TN_SECTION_WEIGHTS] % TN_CODEC_ALIGN != 0 || d->count[TN_SECTION_INFO] != 1)
    return decode_fail(d, "the program file is damaged: sections");
  const size_t hashed = (size_t)d->offset[TN_SECTION_WEIGHTS] - TN_CODEC_HEADER;
  if (tn_hash_bytes(d->bytes.ptr + TN_CODEC_HEADER, hashed, 0) != hash)
    return decode_fail(d, "the program file is damaged: its content does not have its hash");
  return TN_OK;
}

static tn_codec decode_codec(const decoder *d, int table) {
  return (tn_codec){.in = d->bytes.ptr + d->offset[table],
                    .text = (const char *)d->bytes.ptr + d->offset[TN_SECTION_TEXT],
                    .text_bytes = (size_t)d->size[TN_SECTION_TEXT]};
}

/* Bytes that string constants need in memory. Their tables in the file are as large, so they are bounded by it. */
static tn_status decode_count_strings(decoder *d, size_t *out) {
  tn_codec c = decode_codec(d, TN_SECTION_VALUES);
  *out = 0;
  for (uint32_t i = 0; i < d->count[TN_SECTION_VALUES]; i++) {
    tn_pvalue x = {0};
    tn_tables[TN_SECTION_VALUES].code(&c, &x);
    if (x.store != TN_STORE_CONST || x.dtype != TN_STR) continue;
    if (x.bytes > d->size[TN_SECTION_WEIGHTS] || !tn_add_size(*out, (size_t)x.bytes, out) ||
        *out > d->size[TN_SECTION_WEIGHTS])
      return decode_fail(d, "the program file is damaged: string constants");
  }
  return TN_OK;
}

static tn_status decode_layout(decoder *d) {
  size_t at = sizeof(tn_program), strings = 0;
  bool ok = true;
  TN_TRY(decode_count_strings(d, &strings));
  for (int t = 1; t < TN_N_TABLES; t++) {
    ok = ok && tn_align_size(at, 16, &at);
    d->at[t] = at;
    size_t bytes = 0;
    ok = ok && tn_mul_size(d->count[t], tn_tables[t].size, &bytes) && tn_add_size(at, bytes, &at);
  }
  ok = ok && tn_align_size(at, 16, &at);
  d->external_at = at;
  ok = ok && tn_add_size(at, d->count[TN_SECTION_VALUES] * sizeof(void *), &at) && tn_align_size(at, 16, &at);
  d->files_at = at;
  ok = ok && tn_add_size(at, d->count[TN_SECTION_SOURCES] * sizeof(tn_file *), &at) && tn_align_size(at, 16, &at);
  d->extents_at = at;
  ok = ok && tn_add_size(at, d->count[TN_SECTION_SOURCES] * sizeof(tn_pextent), &at) && tn_align_size(at, 16, &at);
  d->strings_at = at;
  ok = ok && tn_add_size(at, strings, &at);
  d->total = at;
  return ok ? TN_OK : tn_error_set(d->err, TN_LIMIT, "the program is too large");
}

static tn_status decode_tables(const decoder *d, char *block) {
  tn_program *p = (tn_program *)(void *)block;
  for (int t = 0; t < TN_N_TABLES; t++) {
    tn_codec c = decode_codec(d, t);
    if (t == TN_SECTION_INFO) {
      tn_info info = {0};
      tn_tables[t].code(&c, &info);
      p->n_slots = info.n_slots;
      p->n_gears = info.n_gears;
      p->gear_columns = info.gear_columns;
      p->gear_miss = info.gear_miss;
    } else {
      char *const records = block + d->at[t];
      for (uint32_t i = 0; i < d->count[t]; i++) tn_tables[t].code(&c, records + i * tn_tables[t].size);
      memcpy(block + tn_tables[t].array, &records, sizeof records);
      memcpy(block + tn_tables[t].count, &d->count[t], sizeof d->count[t]);
    }
    if (c.bad) return decode_fail(d, "the program file is damaged: text of section %d", t);
  }
  p->weights = d->bytes.ptr + d->offset[TN_SECTION_WEIGHTS];
  p->weights_bytes = d->size[TN_SECTION_WEIGHTS];
  return TN_OK;
}

static tn_status decode_strings(const decoder *d, const tn_program *p, const tn_pvalue *x, tn_str *out) {
  const size_t n = (size_t)x->bytes / sizeof(tn_str);
  tn_codec c = {.in = p->weights + x->offset};
  for (size_t i = 0; i < n; i++) {
    uint64_t at, len;
    tn_codec_u64(&c, &at);
    tn_codec_u64(&c, &len);
    if (at > p->weights_bytes || len > p->weights_bytes - at)
      return decode_fail(d, "the program file is damaged: strings of constant '%s'", x->name ? x->name : "");
    out[i] = (tn_str){(const char *)p->weights + at, (size_t)len};
  }
  return TN_OK;
}

static const char *decode_source(const tn_program *p, uint32_t i) {
  return p->sources[i].path ? p->sources[i].path : "";
}

/* A constant in a source. */
static tn_status decode_window(const decoder *d, const tn_program *p, const tn_pvalue *x, const void **out) {
  const tn_file *file = x->source <= p->n_files ? p->files[x->source - 1] : NULL;
  const int bits = tn_dtype_valid(x->dtype) ? tn_dtype_bits((tn_dtype)x->dtype) : 0;
  const size_t align = bits > 64 ? 8 : (size_t)bits / 8;
  if (!file || x->dtype == TN_STR || (align > 1 && x->offset % align != 0))
    return decode_fail(d, "the program file is damaged: constant '%s'", x->name ? x->name : "");
  if (x->offset > file->bytes.len || x->bytes > file->bytes.len - x->offset)
    return decode_fail(d, "weights '%s': the file has %zu bytes; the program uses %llu at %llu",
                       decode_source(p, x->source - 1), file->bytes.len, (unsigned long long)x->bytes,
                       (unsigned long long)x->offset);
  *out = file->bytes.ptr + x->offset;
  return TN_OK;
}

static tn_status decode_consts(const decoder *d, char *block) {
  tn_program *p = (tn_program *)(void *)block;
  const void **external = (const void **)(void *)(block + d->external_at);
  tn_str *strings = (tn_str *)(void *)(block + d->strings_at);
  for (uint32_t i = 0; i < p->n_values; i++) {
    const tn_pvalue *x = &p->values[i];
    external[i] = NULL;
    if (x->store != TN_STORE_CONST) continue;
    if (x->source) {
      TN_TRY(decode_window(d, p, x, &external[i]));
      continue;
    }
    if (x->offset % TN_CODEC_ALIGN != 0 || x->offset > p->weights_bytes || x->bytes > p->weights_bytes - x->offset)
      return decode_fail(d, "the program file is damaged: constant %u", i);
    if (x->dtype != TN_STR) continue;
    TN_TRY(decode_strings(d, p, x, strings));
    external[i] = strings;
    strings += x->bytes / sizeof *strings;
  }
  p->external = external;
  return TN_OK;
}

/* What is opened is closed by decode_close. */
static tn_status decode_open(const decoder *d, tn_program *p) {
  tn_error why = {0};
  for (uint32_t i = 0; i < p->n_files; i++) {
    const char *path = p->sources[i].path;
    if (!path) return decode_fail(d, "the program file is damaged: weights %u have no path", i);
    if (!d->folder) return decode_fail(d, "weights '%.400s': the program was not read from a file", path);
    if (!*path) continue;
    if (tn_file_map_inside(p->allocator, d->folder, path, &p->files[i], &why) != TN_OK)
      return tn_error_set(d->err, why.status, "weights: %s", why.text);
  }
  return TN_OK;
}

static tn_status decode_files(const decoder *d, char *block) {
  tn_program *p = (tn_program *)(void *)block;
  p->files = (tn_file **)(void *)(block + d->files_at);
  p->n_files = p->n_sources;
  if (!d->files) return decode_open(d, p);
  if (d->n_files != p->n_files) return decode_fail(d, "the program has %u files, not %u", p->n_files, d->n_files);
  for (uint32_t i = 0; i < p->n_files; i++) p->files[i] = d->files[i];
  return TN_OK;
}

static void decode_close(const decoder *d, const tn_program *p) {
  for (uint32_t i = 0; i < p->n_files && !d->files; i++) tn_file_close(p->files[i]);
}

/* Another file may have taken the name, or the file other contents, since the program was made. */
static tn_status decode_check_hashes(const decoder *d, const tn_program *p, tn_pextent *extents) {
  if (d->files) return TN_OK;
  tn_program_hash_files(p, extents);
  for (uint32_t i = 0; i < p->n_files; i++)
    if (p->files[i] && extents[i].hash != p->sources[i].hash)
      return decode_fail(d, "weights '%.400s': the file has changed since the program was made", decode_source(p, i));
  return TN_OK;
}

static tn_status decode_block(decoder *d, tn_allocator allocator, tn_program **out) {
  TN_TRY(decode_layout(d));
  char *block = tn_alloc(allocator, d->total);
  if (!block) return tn_error_set(d->err, TN_OOM, "no memory for a program of %zu bytes", d->total);
  memset(block, 0, d->total);
  tn_program *p = (tn_program *)(void *)block;
  p->allocator = allocator;
  p->refs = 1;
  p->memory = block;
  p->memory_bytes = d->total;
  tn_status status = decode_tables(d, block);
  if (status == TN_OK) status = decode_files(d, block);
  if (status == TN_OK) status = decode_consts(d, block);
  if (status == TN_OK) status = tn_program_verify(p, d->err);
  if (status == TN_OK) status = decode_check_hashes(d, p, (tn_pextent *)(void *)(block + d->extents_at));
  if (status != TN_OK) {
    decode_close(d, p);
    tn_free(allocator, block, d->total);
    return status;
  }
  *out = p;
  return TN_OK;
}

static tn_status decode_all(decoder *d, tn_allocator allocator, tn_file *file, tn_program **out) {
  void *image = NULL;
  const tn_bytes bytes = d->bytes;
  if (!decode_is_little_endian()) return tn_error_set(d->err, TN_UNSUPPORTED, "program files on a big-endian machine");
  if (((uintptr_t)bytes.ptr & (TN_CODEC_ALIGN - 1)) != 0) { /* weights are used in place */
    image = tn_alloc(allocator, bytes.len);
    if (!image) return tn_error_set(d->err, TN_OOM, "no memory for a program of %zu bytes", bytes.len);
    memcpy(image, bytes.ptr, bytes.len);
    d->bytes.ptr = image;
  }
  tn_status status = decode_header(d);
  if (status == TN_OK) status = decode_block(d, allocator, out);
  if (status != TN_OK) {
    tn_free(allocator, image, bytes.len);
    return status;
  }
  (*out)->blob = file;
  (*out)->image = image;
  (*out)->image_bytes = image ? bytes.len : 0;
  return TN_OK;
}

tn_status tn_program_decode(tn_allocator allocator, tn_bytes bytes, tn_file *file, const char *folder, tn_program **out,
                            tn_error *err) {
  decoder d = {.bytes = bytes, .folder = folder, .err = err};
  return decode_all(&d, allocator, file, out);
}

tn_status tn_program_decode_over(tn_allocator allocator, tn_bytes bytes, tn_file *file, tn_file *const *files,
                                 uint32_t n_files, tn_program **out, tn_error *err) {
  static tn_file *const none[1];
  decoder d = {.bytes = bytes, .files = files ? files : none, .n_files = n_files, .err = err};
  return decode_all(&d, allocator, file, out);
}
