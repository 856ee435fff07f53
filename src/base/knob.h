/* The knobs and where their values came from. */
#ifndef TN_BASE_KNOB_H
#define TN_BASE_KNOB_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum { TN_KNOB_INT, TN_KNOB_BOOL, TN_KNOB_STR };

typedef enum tn_knob {
#define TN_KNOB(name, type, def, doc) TN_KNOB_##name,
#include "base/knob.def"
#undef TN_KNOB
  TN_N_KNOBS
} tn_knob;

typedef struct tn_knob_row {
  const char *name;
  int type;
  const char *default_text;
  const char *doc;
} tn_knob_row;
extern const tn_knob_row tn_knob_rows[TN_N_KNOBS];

typedef struct tn_knobs {
  int64_t num[TN_N_KNOBS];        /* INT and BOOL */
  const char *str[TN_N_KNOBS];    /* STR; borrowed */
  const char *source[TN_N_KNOBS]; /* "default", "environment", "option" */
} tn_knobs;

/* Fills defaults, then the environment. A malformed environment value is INVALID with the text in *err. */
TN_MUST_CHECK tn_status tn_knobs_init(tn_knobs *k, tn_error *err);
/* `value` is borrowed for STR knobs. Unknown name or malformed value: INVALID. */
TN_MUST_CHECK tn_status tn_knobs_set(tn_knobs *k, const char *name, const char *value, const char *source,
                                     tn_error *err);

#endif
