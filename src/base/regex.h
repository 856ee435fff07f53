/* Regular expressions in RE2's syntax, matched in time linear in the text (Thompson's simulation of an automaton).
 *
 * Done: literals, . [] [^] (also [:alpha:]), \d \w \s and their complements, \b \B \A \z ^ $, groups (capturing, named,
 * (?:), (?flags) with i m s U), | * + ? {n,m} and their lazy forms, \Q...\E, \x \x{} octal and the usual escapes. Case
 * folding goes by simple case mappings. Not done: \p{} and \C (UNSUPPORTED). What RE2 itself refuses (back references,
 * look-around) is INVALID. */
#ifndef TN_BASE_REGEX_H
#define TN_BASE_REGEX_H

#include "base/status.h"
#include "base/utf8.h"

typedef struct tn_regex_inst {
  uint8_t op;
  uint8_t flags;
  int32_t x, y; /* targets are relative to the instruction */
} tn_regex_inst;

typedef struct tn_regex {
  const tn_regex_inst *code;
  int32_t n;
} tn_regex;

enum {
  TN_REGEX_ROOM = 1 << 15, /* instructions an expression may have */
  TN_REGEX_WORK = 4        /* int32 of working memory that a match needs for each instruction */
};

typedef struct tn_regex_fault {
  const char *text; /* what is wrong */
  size_t at;        /* byte of the pattern */
} tn_regex_fault;

/* Compiles into `room` (TN_REGEX_ROOM instructions). INVALID, UNSUPPORTED or LIMIT with *fault filled in. */
TN_MUST_CHECK tn_status tn_regex_compile(tn_str pattern, tn_regex_inst *room, tn_regex *out, tn_regex_fault *fault);
/* Does the expression match the whole text? `work`: TN_REGEX_WORK * r->n elements. */
bool tn_regex_full_match(const tn_regex *r, tn_str text, int32_t *work);
/* The first place at or behind byte `from` where the expression matches, and the longest match there; what is before
 * `from` still decides \b and ^. One search is linear in the text. `work` as above, `starts`: 2 * r->n elements. */
bool tn_regex_find(const tn_regex *r, tn_str text, size_t from, int32_t *work, size_t *starts, size_t *out_begin,
                   size_t *out_end);

#endif
