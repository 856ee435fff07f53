/* Regular expressions. */
#include "base/regex.h"

enum { REGEX_RANGE, REGEX_CLASS, REGEX_SPLIT, REGEX_JUMP, REGEX_ASSERT, REGEX_MATCH };
/* RANGE  x..y                                        one character in a range, or a row of a class
 * CLASS  x = number of ranges that follow            one character in (NEGATED: outside) all of them
 * SPLIT  x, y                                        both ways
 * JUMP   x
 * ASSERT x = regex_at */
enum { REGEX_FOLD = 1, REGEX_NEGATED = 2 };
enum regex_at { REGEX_TEXT_BEGIN, REGEX_TEXT_END, REGEX_LINE_BEGIN, REGEX_LINE_END, REGEX_WORD, REGEX_NO_WORD };
enum { REGEX_MAX_DEPTH = 200, REGEX_MAX_REPEAT = 1000, REGEX_LAST = 0x10ffff };
enum { REGEX_I = 1, REGEX_M = 2, REGEX_S = 4 };

typedef struct regex_parser {
  tn_str p;
  size_t at;
  tn_regex_inst *code;
  int32_t n;
  int flags; /* REGEX_I, _M, _S as they stand */
  int depth;
  tn_regex_fault *fault;
} regex_parser;

static tn_status regex_fail(const regex_parser *r, tn_status code, const char *text) {
  *r->fault = (tn_regex_fault){text, r->at};
  return code;
}
static bool regex_more(const regex_parser *r) { return r->at < r->p.len; }
static bool regex_is(const regex_parser *r, const char *z) {
  const size_t n = strlen(z);
  return r->p.len - r->at >= n && memcmp(r->p.ptr + r->at, z, n) == 0;
}
static bool regex_eat(regex_parser *r, const char *z) {
  if (!regex_is(r, z)) return false;
  r->at += strlen(z);
  return true;
}
static char regex_peek(const regex_parser *r) { return regex_more(r) ? r->p.ptr[r->at] : 0; }

static tn_status regex_put(regex_parser *r, int op, int flags, int32_t x, int32_t y) {
  if (r->n == TN_REGEX_ROOM) return regex_fail(r, TN_LIMIT, "the expression is too large");
  r->code[r->n++] = (tn_regex_inst){(uint8_t)op, (uint8_t)flags, x, y};
  return TN_OK;
}
/* Room for one instruction at `at`: what is behind moves on, its inner targets stay right. */
static tn_status regex_insert(regex_parser *r, int32_t at, int op, int32_t x, int32_t y) {
  TN_TRY(regex_put(r, op, 0, x, y));
  memmove(r->code + at + 1, r->code + at, (size_t)(r->n - 1 - at) * sizeof *r->code);
  r->code[at] = (tn_regex_inst){(uint8_t)op, 0, x, y};
  return TN_OK;
}
static tn_status regex_range(regex_parser *r, uint32_t lo, uint32_t hi) {
  return regex_put(r, REGEX_RANGE, r->flags & REGEX_I ? REGEX_FOLD : 0, (int32_t)lo, (int32_t)hi);
}

/* --- classes --- */

typedef struct regex_set {
  const char *name;
  int n;
  uint32_t range[8];
} regex_set;
static const regex_set regex_perl[] = {{"d", 1, {'0', '9'}},
                                       {"s", 3, {'\t', '\n', '\f', '\r', ' ', ' '}},
                                       {"w", 4, {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}}};
static const regex_set regex_posix[] = {{"alnum", 3, {'0', '9', 'A', 'Z', 'a', 'z'}},
                                        {"alpha", 2, {'A', 'Z', 'a', 'z'}},
                                        {"ascii", 1, {0, 127}},
                                        {"blank", 2, {'\t', '\t', ' ', ' '}},
                                        {"cntrl", 2, {0, 31, 127, 127}},
                                        {"digit", 1, {'0', '9'}},
                                        {"graph", 1, {'!', '~'}},
                                        {"lower", 1, {'a', 'z'}},
                                        {"print", 1, {' ', '~'}},
                                        {"punct", 4, {'!', '/', ':', '@', '[', '`', '{', '~'}},
                                        {"space", 2, {'\t', '\r', ' ', ' '}},
                                        {"upper", 1, {'A', 'Z'}},
                                        {"word", 4, {'0', '9', 'A', 'Z', '_', '_', 'a', 'z'}},
                                        {"xdigit", 3, {'0', '9', 'A', 'F', 'a', 'f'}}};

/* The ranges of a set, or what is between them. */
static tn_status regex_put_set(regex_parser *r, const regex_set *s, bool negated) {
  uint32_t next = 0;
  for (int i = 0; i < s->n; i++) {
    const uint32_t lo = s->range[2 * i], hi = s->range[2 * i + 1];
    if (!negated)
      TN_TRY(regex_range(r, lo, hi));
    else if (lo > next)
      TN_TRY(regex_range(r, next, lo - 1));
    next = hi + 1;
  }
  return negated ? regex_range(r, next, REGEX_LAST) : TN_OK;
}

static const regex_set *regex_perl_set(char c) {
  for (int i = 0; i < 3; i++)
    if ((c | 32) == regex_perl[i].name[0]) return &regex_perl[i];
  return NULL;
}

static int regex_hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

/* Behind "\x": two digits, or any number in braces. */
static tn_status regex_hex_escape(regex_parser *r, uint32_t *out) {
  const bool braced = regex_eat(r, "{");
  int n = 0;
  for (*out = 0; regex_more(r) && regex_hex(regex_peek(r)) >= 0 && (braced || n < 2); n++, r->at++) {
    *out = *out * 16 + (uint32_t)regex_hex(regex_peek(r));
    if (*out > REGEX_LAST) return regex_fail(r, TN_INVALID, "a code point is out of range");
  }
  if (n == 0 || (!braced && n < 2) || (braced && !regex_eat(r, "}")))
    return regex_fail(r, TN_INVALID, "a bad hexadecimal escape");
  return TN_OK;
}

/* One character behind a backslash. */
static tn_status regex_escape(regex_parser *r, uint32_t *out) {
  static const char names[] = "aftnrv", values[] = "\a\f\t\n\r\v";
  if (!regex_more(r)) return regex_fail(r, TN_INVALID, "a backslash at the end");
  const char c = regex_peek(r);
  const char *const name = strchr(names, c);
  const char next = r->at + 1 < r->p.len ? r->p.ptr[r->at + 1] : 0;
  if (c && name) return *out = (uint32_t)values[name - names], r->at++, TN_OK;
  if (c == 'x') return r->at++, regex_hex_escape(r, out);
  if (c == '0' || (c >= '1' && c <= '7' && next >= '0' && next <= '7')) {
    *out = 0;
    for (int i = 0; i < 3 && regex_peek(r) >= '0' && regex_peek(r) <= '7'; i++, r->at++)
      *out = *out * 8 + (uint32_t)(regex_peek(r) - '0');
    return TN_OK;
  }
  if (c >= '1' && c <= '9') return regex_fail(r, TN_INVALID, "back references are not part of the syntax");
  if (c == 'p' || c == 'P') return regex_fail(r, TN_UNSUPPORTED, "Unicode classes (\\p) are not done");
  if (c == 'C') return regex_fail(r, TN_UNSUPPORTED, "single bytes (\\C) are not done");
  if ((uint8_t)c < 0x80 && c != '_' && (c < '0' || (c > '9' && (c | 32) < 'a') || (c | 32) > 'z'))
    return *out = (uint32_t)c, r->at++, TN_OK;
  return regex_fail(r, TN_INVALID, "an unknown escape");
}

/* One character of a class, a member of a range. */
static tn_status regex_class_char(regex_parser *r, uint32_t *out) {
  if (!regex_more(r)) return regex_fail(r, TN_INVALID, "a missing ]");
  if (regex_eat(r, "\\")) return regex_escape(r, out);
  *out = tn_utf8_next(r->p, &r->at);
  return TN_OK;
}

/* [:name:] or \d and the like; *out_done says whether there was one. */
static tn_status regex_class_named(regex_parser *r, bool *out_done) {
  *out_done = true;
  if (regex_is(r, "\\") && r->at + 1 < r->p.len && regex_perl_set(r->p.ptr[r->at + 1])) {
    const char c = r->p.ptr[r->at + 1];
    r->at += 2;
    return regex_put_set(r, regex_perl_set(c), c < 'a');
  }
  if (!regex_is(r, "[:")) return *out_done = false, TN_OK;
  const size_t begin = r->at;
  r->at += 2;
  const bool negated = regex_eat(r, "^");
  for (size_t i = 0; i < sizeof regex_posix / sizeof *regex_posix; i++) {
    const size_t n = strlen(regex_posix[i].name);
    if (!regex_is(r, regex_posix[i].name) || r->p.len - r->at < n + 2 || memcmp(r->p.ptr + r->at + n, ":]", 2) != 0)
      continue;
    r->at += n + 2;
    return regex_put_set(r, &regex_posix[i], negated);
  }
  r->at = begin;
  return regex_fail(r, TN_INVALID, "an unknown class name");
}

static tn_status regex_class(regex_parser *r) { /* behind the [ */
  const int32_t head = r->n;
  TN_TRY(regex_put(r, REGEX_CLASS, regex_eat(r, "^") ? REGEX_NEGATED : 0, 0, 0));
  for (bool first = true; first || !regex_is(r, "]"); first = false) {
    uint32_t lo, hi;
    bool done;
    if (!regex_more(r)) return regex_fail(r, TN_INVALID, "a missing ]");
    TN_TRY(regex_class_named(r, &done));
    if (done) continue;
    TN_TRY(regex_class_char(r, &lo));
    hi = lo;
    if (regex_is(r, "-") && r->at + 1 < r->p.len && r->p.ptr[r->at + 1] != ']') {
      r->at++;
      TN_TRY(regex_class_char(r, &hi));
    }
    if (hi < lo) return regex_fail(r, TN_INVALID, "a range that ends before it begins");
    TN_TRY(regex_range(r, lo, hi));
  }
  r->at++;
  r->code[head].x = r->n - head - 1;
  return TN_OK;
}

/* --- groups and atoms --- */

static tn_status regex_alternatives(regex_parser *r);

/* Behind "(?": flags for the rest of the group, or for the group that follows; *out_only says that they stand alone. */
static tn_status regex_flags(regex_parser *r, bool *out_only) {
  bool on = true;
  for (; regex_more(r); r->at++) {
    const char c = regex_peek(r);
    const int flag = c == 'i' ? REGEX_I : c == 'm' ? REGEX_M : c == 's' ? REGEX_S : 0;
    if (c == ')' || c == ':') return *out_only = c == ')', r->at++, TN_OK;
    if (c == '-' && on)
      on = false;
    else if (flag)
      r->flags = on ? r->flags | flag : r->flags & ~flag;
    else if (c != 'U')
      return regex_fail(r, TN_INVALID, "this kind of group is not part of the syntax");
  }
  return regex_fail(r, TN_INVALID, "a missing )");
}

static tn_status regex_group_name(regex_parser *r) {
  const size_t begin = r->at;
  for (; regex_more(r) && regex_peek(r) != '>'; r->at++) {
    const char c = regex_peek(r);
    if (c != '_' && !(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z'))
      return regex_fail(r, TN_INVALID, "a bad group name");
  }
  if (r->at == begin || !regex_eat(r, ">")) return regex_fail(r, TN_INVALID, "a bad group name");
  return TN_OK;
}

static tn_status regex_group(regex_parser *r, bool *out_only) { /* behind the ( */
  const int flags = r->flags;
  *out_only = false;
  if (regex_eat(r, "?P<") || (regex_is(r, "?<") && !regex_is(r, "?<=") && !regex_is(r, "?<!") && regex_eat(r, "?<")))
    TN_TRY(regex_group_name(r));
  else if (regex_eat(r, "?"))
    TN_TRY(regex_flags(r, out_only));
  if (*out_only) return TN_OK;
  if (++r->depth > REGEX_MAX_DEPTH) return regex_fail(r, TN_LIMIT, "groups are nested too deeply");
  TN_TRY(regex_alternatives(r));
  r->depth--;
  if (!regex_eat(r, ")")) return regex_fail(r, TN_INVALID, "a missing )");
  r->flags = flags;
  return TN_OK;
}

static tn_status regex_backslash(regex_parser *r) {
  const char c = regex_peek(r);
  const regex_set *const perl = regex_more(r) ? regex_perl_set(c) : NULL;
  uint32_t code;
  if (perl) {
    const int32_t head = r->n;
    r->at++;
    TN_TRY(regex_put(r, REGEX_CLASS, 0, 0, 0));
    TN_TRY(regex_put_set(r, perl, c < 'a'));
    r->code[head].x = r->n - head - 1;
    return TN_OK;
  }
  static const char names[] = "AzbB";
  static const int kinds[] = {REGEX_TEXT_BEGIN, REGEX_TEXT_END, REGEX_WORD, REGEX_NO_WORD};
  const char *const name = c ? strchr(names, c) : NULL;
  if (name) return r->at++, regex_put(r, REGEX_ASSERT, 0, kinds[name - names], 0);
  TN_TRY(regex_escape(r, &code));
  return regex_range(r, code, code);
}

static tn_status regex_dot(regex_parser *r) {
  if (r->flags & REGEX_S) return regex_put(r, REGEX_RANGE, 0, 0, REGEX_LAST);
  TN_TRY(regex_put(r, REGEX_CLASS, REGEX_NEGATED, 1, 0));
  return regex_put(r, REGEX_RANGE, 0, '\n', '\n');
}

static tn_status regex_atom(regex_parser *r, bool *out_nothing) {
  const bool lines = (r->flags & REGEX_M) != 0;
  *out_nothing = false;
  if (regex_eat(r, "(")) return regex_group(r, out_nothing);
  if (regex_eat(r, "[")) return regex_class(r);
  if (regex_eat(r, ".")) return regex_dot(r);
  if (regex_eat(r, "^")) return regex_put(r, REGEX_ASSERT, 0, lines ? REGEX_LINE_BEGIN : REGEX_TEXT_BEGIN, 0);
  if (regex_eat(r, "$")) return regex_put(r, REGEX_ASSERT, 0, lines ? REGEX_LINE_END : REGEX_TEXT_END, 0);
  if (regex_eat(r, "\\")) return regex_backslash(r);
  if (regex_is(r, "*") || regex_is(r, "+") || regex_is(r, "?"))
    return regex_fail(r, TN_INVALID, "a repetition of nothing");
  const uint32_t c = tn_utf8_next(r->p, &r->at);
  return regex_range(r, c, c);
}

/* --- repetition --- */

static bool regex_number(regex_parser *r, int *out) {
  const size_t begin = r->at;
  for (*out = 0; regex_peek(r) >= '0' && regex_peek(r) <= '9'; r->at++)
    *out = *out > REGEX_MAX_REPEAT ? *out : *out * 10 + (regex_peek(r) - '0');
  return r->at > begin;
}

/* {n}, {n,} or {n,m}; anything else in braces is text. *hi < 0: no end. */
static bool regex_counts(regex_parser *r, int *lo, int *hi) {
  const size_t begin = r->at;
  if (regex_eat(r, "{") && regex_number(r, lo)) {
    *hi = *lo;
    if (regex_eat(r, ",") && !regex_number(r, hi)) *hi = -1;
    if (regex_eat(r, "}")) return true;
  }
  r->at = begin;
  return false;
}

static tn_status regex_star(regex_parser *r, int32_t at) { /* code from `at` on, any number of times */
  const int32_t n = r->n - at;
  TN_TRY(regex_insert(r, at, REGEX_SPLIT, 1, n + 2));
  return regex_put(r, REGEX_JUMP, 0, -(n + 1), 0);
}
static tn_status regex_maybe(regex_parser *r, int32_t at) { return regex_insert(r, at, REGEX_SPLIT, 1, r->n - at + 1); }

static tn_status regex_again(regex_parser *r, int32_t at, int32_t n) { /* a copy of n instructions at the end */
  if (n > TN_REGEX_ROOM - r->n) return regex_fail(r, TN_LIMIT, "the expression is too large");
  memcpy(r->code + r->n, r->code + at, (size_t)n * sizeof *r->code);
  r->n += n;
  return TN_OK;
}

/* x{lo,hi}: lo copies, then x* or hi - lo copies each of which may end it. */
static tn_status regex_repeat(regex_parser *r, int32_t at, int lo, int hi) {
  const int32_t n = r->n - at;
  if (lo > REGEX_MAX_REPEAT || hi > REGEX_MAX_REPEAT || (hi >= 0 && hi < lo))
    return regex_fail(r, TN_INVALID, "a repetition count out of range");
  if (lo == 0 && hi < 0) return regex_star(r, at);
  if (lo == 0 && hi == 0) return r->n = at, TN_OK;
  for (int i = 1; i < lo; i++) TN_TRY(regex_again(r, at, n));
  if (hi < 0) {
    const int32_t last = r->n - n; /* x x* = x, then back to it or on */
    return regex_put(r, REGEX_SPLIT, 0, last - r->n, 1);
  }
  const int optional = hi - lo;
  if (lo == 0) {
    TN_TRY(regex_insert(r, at, REGEX_SPLIT, 1, optional * (n + 1)));
    for (int i = 1; i < optional; i++) {
      TN_TRY(regex_put(r, REGEX_SPLIT, 0, 1, (optional - i) * (n + 1)));
      TN_TRY(regex_again(r, at + 1, n));
    }
    return TN_OK;
  }
  for (int i = 0; i < optional; i++) {
    TN_TRY(regex_put(r, REGEX_SPLIT, 0, 1, (optional - i) * (n + 1)));
    TN_TRY(regex_again(r, at, n));
  }
  return TN_OK;
}

/* The repetition, if any, of the code from `at` on. */
static tn_status regex_suffix(regex_parser *r, int32_t at, bool nothing) {
  int lo = 0, hi = 0;
  for (int count = 0;; count++) {
    const char c = regex_peek(r);
    const bool braces = c == '{' && regex_counts(r, &lo, &hi);
    if (!braces && c != '*' && c != '+' && c != '?') return TN_OK;
    if (nothing) return regex_fail(r, TN_INVALID, "a repetition of nothing");
    if (count > 0) return regex_fail(r, TN_INVALID, "a repetition of a repetition");
    if (!braces) r->at++;
    if (braces)
      TN_TRY(regex_repeat(r, at, lo, hi));
    else if (c == '?')
      TN_TRY(regex_maybe(r, at));
    else
      TN_TRY(regex_repeat(r, at, c == '+', -1));
    (void)regex_eat(r, "?"); /* lazy: the same for a match of the whole text */
  }
}

static tn_status regex_repeated(regex_parser *r) {
  const int32_t at = r->n;
  bool nothing;
  TN_TRY(regex_atom(r, &nothing));
  return regex_suffix(r, at, nothing);
}

static tn_status regex_quoted(regex_parser *r) { /* behind \Q */
  int32_t last = -1;
  while (regex_more(r) && !regex_eat(r, "\\E")) {
    const uint32_t c = tn_utf8_next(r->p, &r->at);
    last = r->n;
    TN_TRY(regex_range(r, c, c));
  }
  return last < 0 ? TN_OK : regex_suffix(r, last, false);
}

static tn_status regex_sequence(regex_parser *r) {
  while (regex_more(r) && !regex_is(r, "|") && !regex_is(r, ")")) {
    if (regex_eat(r, "\\Q"))
      TN_TRY(regex_quoted(r));
    else
      TN_TRY(regex_repeated(r));
  }
  return TN_OK;
}

/* a|b|c: each but the last is SPLIT over it, and ends in a JUMP to the end. The jumps are chained by their targets
 * until the end is known. */
static tn_status regex_alternatives(regex_parser *r) {
  int32_t at = r->n, chain = -1;
  TN_TRY(regex_sequence(r));
  while (regex_eat(r, "|")) {
    TN_TRY(regex_insert(r, at, REGEX_SPLIT, 1, r->n - at + 2));
    TN_TRY(regex_put(r, REGEX_JUMP, 0, chain, 0));
    chain = r->n - 1;
    at = r->n;
    TN_TRY(regex_sequence(r));
  }
  while (chain >= 0) {
    const int32_t before = r->code[chain].x;
    r->code[chain].x = r->n - chain;
    chain = before;
  }
  return TN_OK;
}

tn_status tn_regex_compile(tn_str pattern, tn_regex_inst *room, tn_regex *out, tn_regex_fault *fault) {
  regex_parser r = {.p = pattern, .code = room, .fault = fault};
  TN_TRY(regex_alternatives(&r));
  if (regex_more(&r)) return regex_fail(&r, TN_INVALID, "a ) without its (");
  TN_TRY(regex_put(&r, REGEX_MATCH, 0, 0, 0));
  *out = (tn_regex){room, r.n};
  return TN_OK;
}

/* --- matching --- */

typedef struct regex_run {
  const tn_regex *r;
  tn_str text;
  int32_t *seen; /* step (1 + number of characters before) at which an instruction was reached last */
  int32_t *stack;
} regex_run;

static bool regex_in(const tn_regex_inst *i, uint32_t c) {
  const uint32_t lo = (uint32_t)i->x, hi = (uint32_t)i->y;
  if (c >= lo && c <= hi) return true;
  if (!(i->flags & REGEX_FOLD)) return false;
  const uint32_t lower = tn_utf8_lower(c), upper = tn_utf8_upper(c);
  const uint32_t forms[4] = {lower, upper, tn_utf8_lower(upper), tn_utf8_upper(lower)};
  for (int f = 0; f < 4; f++)
    if (forms[f] >= lo && forms[f] <= hi) return true;
  return false;
}

static bool regex_accepts(const tn_regex_inst *i, uint32_t c) {
  if (i->op == REGEX_RANGE) return regex_in(i, c);
  bool in = false;
  for (int32_t k = 1; k <= i->x && !in; k++) in = regex_in(i + k, c);
  return in != ((i->flags & REGEX_NEGATED) != 0);
}

static bool regex_is_word(tn_str s, size_t at) {
  if (at >= s.len) return false;
  const char c = s.ptr[at];
  return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static bool regex_holds(tn_str s, size_t at, int kind) {
  switch (kind) {
    case REGEX_TEXT_BEGIN:
      return at == 0;
    case REGEX_TEXT_END:
      return at == s.len;
    case REGEX_LINE_BEGIN:
      return at == 0 || s.ptr[at - 1] == '\n';
    case REGEX_LINE_END:
      return at == s.len || s.ptr[at] == '\n';
    default: {
      const bool edge = (at > 0 && regex_is_word(s, at - 1)) != regex_is_word(s, at);
      return edge == (kind == REGEX_WORD);
    }
  }
}

/* Adds what is reached from instruction `from` at byte `at` without a character. */
static void regex_reach(const regex_run *m, int32_t from, size_t at, int32_t step, int32_t *list, int32_t *n) {
  int32_t depth = 0;
  if (m->seen[from] == step) return;
  m->seen[from] = step;
  m->stack[depth++] = from;
  while (depth > 0) {
    const int32_t pc = m->stack[--depth];
    const tn_regex_inst *const i = &m->r->code[pc];
    int32_t next[2] = {-1, -1};
    if (i->op == REGEX_SPLIT) next[1] = pc + i->y;
    if (i->op == REGEX_SPLIT || i->op == REGEX_JUMP)
      next[0] = pc + i->x;
    else if (i->op != REGEX_ASSERT)
      list[(*n)++] = pc;
    else if (regex_holds(m->text, at, i->x))
      next[0] = pc + 1;
    for (int k = 0; k < 2; k++) {
      if (next[k] < 0 || m->seen[next[k]] == step) continue;
      m->seen[next[k]] = step;
      m->stack[depth++] = next[k];
    }
  }
}

bool tn_regex_full_match(const tn_regex *r, tn_str text, int32_t *work) {
  int32_t *now = work, *later = work + r->n, n = 0, step = 1;
  const regex_run m = {r, text, work + 2 * r->n, work + 3 * r->n};
  memset(m.seen, 0, (size_t)r->n * sizeof *m.seen);
  regex_reach(&m, 0, 0, step, now, &n);
  for (size_t at = 0; at < text.len && n > 0;) {
    const uint32_t c = tn_utf8_next(text, &at);
    int32_t n_later = 0;
    if (++step == INT32_MAX) {
      memset(m.seen, 0, (size_t)r->n * sizeof *m.seen);
      step = 1;
    }
    for (int32_t k = 0; k < n; k++) {
      const tn_regex_inst *const i = &r->code[now[k]];
      if (i->op == REGEX_MATCH || !regex_accepts(i, c)) continue;
      regex_reach(&m, now[k] + 1 + (i->op == REGEX_CLASS ? i->x : 0), at, step, later, &n_later);
    }
    int32_t *const last = now;
    now = later;
    later = last;
    n = n_later;
  }
  for (int32_t k = 0; k < n; k++)
    if (r->code[now[k]].op == REGEX_MATCH) return true;
  return false;
}

/* The places where a match may be under way, and where each began; those that began earlier come first. */
typedef struct regex_list {
  int32_t *at;
  size_t *begin;
  int32_t n;
} regex_list;

static void regex_go(const regex_run *m, int32_t from, size_t at, int32_t step, size_t begin, regex_list *list) {
  const int32_t before = list->n;
  regex_reach(m, from, at, step, list->at, &list->n);
  for (int32_t k = before; k < list->n; k++) list->begin[k] = begin;
}

bool tn_regex_find(const tn_regex *r, tn_str text, size_t from, int32_t *work, size_t *starts, size_t *out_begin,
                   size_t *out_end) {
  const regex_run m = {r, text, work + 2 * r->n, work + 3 * r->n};
  regex_list now = {work, starts, 0}, later = {work + r->n, starts + r->n, 0};
  bool found = false;
  memset(m.seen, 0, (size_t)r->n * sizeof *m.seen);
  for (int32_t step = 1; from <= text.len; step++) {
    if (!found) regex_go(&m, 0, from, step, from, &now);
    for (int32_t k = 0; k < now.n; k++) {
      if (r->code[now.at[k]].op != REGEX_MATCH || (found && now.begin[k] > *out_begin)) continue;
      found = true;
      *out_begin = now.begin[k];
      *out_end = from;
    }
    if (from == text.len || (found && now.n == 0)) break;
    const uint32_t c = tn_utf8_next(text, &from);
    if (step == INT32_MAX - 1) {
      memset(m.seen, 0, (size_t)r->n * sizeof *m.seen);
      step = 0;
    }
    later.n = 0;
    for (int32_t k = 0; k < now.n; k++) {
      const tn_regex_inst *const i = &r->code[now.at[k]];
      if ((found && now.begin[k] > *out_begin) || i->op == REGEX_MATCH || !regex_accepts(i, c)) continue;
      regex_go(&m, now.at[k] + 1 + (i->op == REGEX_CLASS ? i->x : 0), from, step + 1, now.begin[k], &later);
    }
    const regex_list last = now;
    now = later;
    later = last;
  }
  return found;
}
