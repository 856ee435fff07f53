/* The one lexer behind all our text forms (IR, symbolic expressions). Works on untrusted text.
 * '#' starts a comment to the end of the line; '//' is floor division. */
#ifndef TN_BASE_SCAN_H
#define TN_BASE_SCAN_H

#include "base/ctx.h"

typedef enum tn_token_kind {
  TN_TOK_END,
  TN_TOK_NAME,   /* [A-Za-z_][A-Za-z0-9_.]* */
  TN_TOK_INT,    /* decimal, fits int64 (a '-' is a separate PUNCT) */
  TN_TOK_FLOAT,  /* has a '.', exponent; or the names inf, nan are NAME tokens */
  TN_TOK_STRING, /* "..." with the escapes of tn_text_quote; text is the decoded, interned string */
  TN_TOK_PUNCT,  /* one of ( ) { } [ ] < > = , : ; % @ + - * / ? ! and the pairs // -> <= >= == != */
  TN_TOK_BAD     /* unreadable byte, number out of range, unclosed string: text says which */
} tn_token_kind;

typedef struct tn_token {
  tn_token_kind kind;
  tn_str text; /* source text; for STRING the decoded bytes; for BAD a sentence */
  int64_t i;   /* INT */
  double f;    /* FLOAT */
  int line;    /* 1-based */
  bool space_before;
} tn_token;

typedef struct tn_scan {
  tn_ctx *ctx;
  tn_str src;
  size_t pos;
  int line;
  tn_token tok; /* the current token */
  int depth;    /* how deep the parser is; the parser counts */
} tn_scan;

void tn_scan_init(tn_scan *s, tn_ctx *ctx, tn_str src); /* and reads the first token */
void tn_scan_next(tn_scan *s);
bool tn_scan_at(const tn_scan *s, const char *punct_or_name); /* is the current token this? */
bool tn_scan_take(tn_scan *s, const char *punct_or_name);     /* ... and if so, go on */
/* tn_fail with INVALID at "line N"; includes what was found. */
TN_MUST_CHECK tn_status tn_scan_fail(tn_scan *s, const char *expected);
TN_MUST_CHECK tn_status tn_scan_need(tn_scan *s, const char *punct_or_name);
/* [-] INT, so that INT64_MIN reads back too. */
TN_MUST_CHECK tn_status tn_scan_need_int(tn_scan *s, int64_t *out);

#endif
