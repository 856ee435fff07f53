/* How each table of a program looks in a file: one description for writing and reading. Everything is little-endian and
 * written field by field.
 *
 *   header    64 bytes: "TENONPRG", u32 version, u32 sections, u64 total bytes, u64 hash of the bytes between the
 * header and the weights, zeros sections  per section: u32 number, u32 records, u64 offset, u64 bytes
 *   ...       records of fixed size; strings are (u32 offset, u32 length) into the text section, where a NUL follows
 *   weights   64-byte aligned, each constant too; strings as a table of (u64 offset in the weights, u64 length) */
#ifndef TN_CODE_CODEC_H
#define TN_CODE_CODEC_H

#include "code/program.h"

enum { TN_CODEC_HEADER = 64, TN_CODEC_ENTRY = 24, TN_CODEC_ALIGN = 64, TN_CODEC_RECORD_MAX = 256 };

typedef struct tn_codec {
  uint8_t *out;      /* where to write, NULL: only advance `at` */
  const uint8_t *in; /* where to read; NULL when writing */
  size_t at;         /* next byte of out or in; the caller guarantees the room of a record */
  uint8_t *text_out; /* text section, NULL: only advance text_at */
  const char *text;
  size_t text_at, text_bytes;
  bool bad; /* a string reference that leaves the text */
} tn_codec;

typedef enum tn_section_number {
  TN_SECTION_INFO, /* slots, gears */
  TN_SECTION_SYMBOLS,
  TN_SECTION_CODE,
  TN_SECTION_BINDS,
  TN_SECTION_CHECKS,
  TN_SECTION_SEGMENTS,
  TN_SECTION_DIMS,
  TN_SECTION_VALUES,
  TN_SECTION_BUFFERS,
  TN_SECTION_OPERANDS,
  TN_SECTION_ATTRS,
  TN_SECTION_INTS,
  TN_SECTION_FLOATS,
  TN_SECTION_STRINGS,
  TN_SECTION_STEPS,
  TN_SECTION_REGIONS,
  TN_SECTION_INPUTS,
  TN_SECTION_OUTPUTS,
  TN_SECTION_GEAR_DIMS,
  TN_SECTION_GEAR_SIZES,
  TN_SECTION_SOURCES,
  TN_N_TABLES,
  TN_SECTION_TEXT = TN_N_TABLES,
  TN_SECTION_WEIGHTS,
  TN_N_SECTIONS
} tn_section_number;

typedef struct tn_info { /* the one record of TN_SECTION_INFO */
  uint32_t n_slots, n_gears, gear_columns, gear_miss;
} tn_info;

typedef struct tn_table {
  size_t size;                             /* of a record in memory */
  size_t array, count;                     /* where tn_program keeps pointer and number; INFO has neither */
  void (*code)(tn_codec *c, void *record); /* writes or reads one record */
} tn_table;
extern const tn_table tn_tables[TN_N_TABLES];

size_t tn_codec_record_bytes(const tn_table *t); /* in the file */
void tn_codec_u32(tn_codec *c, uint32_t *x);
void tn_codec_u64(tn_codec *c, uint64_t *x);

#endif
