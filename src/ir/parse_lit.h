/* Types and literals in the text form: the part of parse.c that knows no graph. */
#ifndef TN_IR_PARSE_LIT_H
#define TN_IR_PARSE_LIT_H

#include "base/map.h"
#include "ir/tensor.h"

typedef struct tn_litparse {
  tn_scan *s;
  tn_ctx *ctx;
  tn_symtab *syms;
  const char *dir;     /* folder of external data; NULL = none allowed */
  tn_map files;        /* interned name -> index in ctx->files */
  size_t spread_bytes; /* made out of nothing by "dense(T[..]: x)" so far */
} tn_litparse;

/* [-] FLOAT | INT | inf | nan */
TN_MUST_CHECK tn_status tn_parse_float(tn_scan *s, double *out);
TN_MUST_CHECK tn_status tn_parse_type(tn_litparse *p, tn_type *out);
TN_MUST_CHECK tn_status tn_parse_lit(tn_litparse *p, const tn_lit **out);

#endif
