#include "driver/sizes.h"

#include "base/vec.h"

enum { SIZES_RUNS = 6 };

typedef struct sizes_run { /* numbers that follow each other */
  int64_t lo, hi;
} sizes_run;

typedef TN_VEC(sizes_run) sizes_runs;

typedef struct sizes {
  tn_symtab *t;
  tn_arena *arena;
  const tn_sym_set *set;
  int64_t from, least;       /* the pattern holds from `least` on */
  sizes_runs alone, pattern; /* numbers beside the pattern; remainders, a run that passes 0 begins below it */
  tn_text words;
  tn_sym condition;
} sizes;

static void sizes_push(const sizes *s, sizes_runs *runs, int64_t v) {
  if (runs->n > 0 && runs->at[runs->n - 1].hi == v - 1)
    runs->at[runs->n - 1].hi = v;
  else if (runs->n <= SIZES_RUNS)
    tn_vec_push(s->arena, runs, ((sizes_run){v, v}));
}

static bool sizes_in_pattern(const sizes *s, int64_t v) {
  int64_t past = 0;
  if (s->set->period == 0 || !tn_mod_i64(v - s->set->from, s->set->period, &past)) return false;
  return tn_sym_set_has(s->set, s->set->from + past);
}

static void sizes_split(sizes *s) {
  const int64_t p = s->set->period;
  for (int64_t r = 0; r < p; r++)
    if (sizes_in_pattern(s, r)) sizes_push(s, &s->pattern, r);
  const size_t last = s->pattern.n - 1;
  if (s->pattern.n > 1 && s->pattern.at[0].lo == 0 && s->pattern.at[last].hi == p - 1) {
    s->pattern.at[0].lo = s->pattern.at[last].lo - p;
    s->pattern.n--;
  }
  s->least = s->from;
  for (int64_t v = s->from; v < s->set->from; v++)
    if (sizes_in_pattern(s, v) && !tn_sym_set_has(s->set, v)) s->least = v + 1;
  for (int64_t v = s->from; v < s->set->from; v++)
    if (tn_sym_set_has(s->set, v) && (v < s->least || !sizes_in_pattern(s, v))) sizes_push(s, &s->alone, v);
}

static tn_sym sizes_int(const sizes *s, int64_t v) { return tn_sym_int(s->t, v); }

static void sizes_or(sizes *s, tn_sym e) {
  s->condition = s->condition ? tn_sym_or(s->t, s->condition, e) : e;
  if (s->words.len) tn_text_addz(&s->words, " or ");
}

static void sizes_say_alone(sizes *s, sizes_run run) {
  const tn_sym var = s->set->var;
  const tn_sym low = tn_sym_le(s->t, sizes_int(s, run.lo), var), high = tn_sym_le(s->t, var, sizes_int(s, run.hi));
  const bool is_one = run.lo == run.hi;
  const bool is_first = run.lo == s->from && s->from <= 0;
  sizes_or(s, is_one ? tn_sym_eq(s->t, var, sizes_int(s, run.lo)) : is_first ? high : tn_sym_and(s->t, low, high));
  if (is_one)
    tn_text_printf(&s->words, "%lld", (long long)run.lo);
  else if (is_first)
    tn_text_printf(&s->words, "at most %lld", (long long)run.hi);
  else
    tn_text_printf(&s->words, "%lld to %lld", (long long)run.lo, (long long)run.hi);
}

/* "a multiple of 8", "at most 3 less than a multiple of 32", "2 or 3 more than a multiple of 5" */
static void sizes_say_remainder(sizes *s, sizes_run run) {
  const int64_t p = s->set->period;
  const long long lo = (long long)run.lo, hi = (long long)run.hi, under = (long long)(p - run.lo);
  if (run.lo == 0 && run.hi == 0)
    tn_text_printf(&s->words, "a multiple of %lld", (long long)p);
  else if (p == 2)
    tn_text_addz(&s->words, "odd");
  else if (run.hi == 0)
    tn_text_printf(&s->words, "at most %lld less than a multiple of %lld", -lo, (long long)p);
  else if (run.lo == 0)
    tn_text_printf(&s->words, "at most %lld more than a multiple of %lld", hi, (long long)p);
  else if (run.lo < 0)
    tn_text_printf(&s->words, "between %lld less and %lld more than a multiple of %lld", -lo, hi, (long long)p);
  else if (run.lo == run.hi && run.lo == p - 1)
    tn_text_printf(&s->words, "%lld less than a multiple of %lld", under, (long long)p);
  else if (run.lo == run.hi)
    tn_text_printf(&s->words, "%lld more than a multiple of %lld", lo, (long long)p);
  else if (run.lo == 1 && run.hi == p - 1)
    tn_text_printf(&s->words, "no multiple of %lld", (long long)p);
  else
    tn_text_printf(&s->words, "%lld to %lld more than a multiple of %lld", lo, hi, (long long)p);
}

static tn_sym sizes_remainder(const sizes *s, sizes_run run) {
  const tn_sym p = sizes_int(s, s->set->period), var = s->set->var;
  if (run.lo == run.hi) return tn_sym_eq(s->t, tn_sym_mod(s->t, var, p), sizes_int(s, run.lo));
  return tn_sym_le(s->t, tn_sym_mod(s->t, tn_sym_addi(s->t, var, -run.lo), p), sizes_int(s, run.hi - run.lo));
}

static void sizes_say_pattern(sizes *s) {
  const bool is_full = s->set->period == 1 && s->pattern.n == 1;
  int64_t least = s->least;
  while (s->pattern.n && !sizes_in_pattern(s, least)) least++;
  const bool has_least = s->least > s->from;
  tn_sym repeats = is_full ? sizes_int(s, 1) : NULL;
  for (size_t i = 0; i < s->pattern.n && !is_full; i++) {
    const tn_sym e = sizes_remainder(s, s->pattern.at[i]);
    repeats = repeats ? tn_sym_or(s->t, repeats, e) : e;
  }
  if (!repeats) return;
  if (!has_least && is_full) return;
  sizes_or(s, has_least ? tn_sym_and(s->t, tn_sym_le(s->t, sizes_int(s, least), s->set->var), repeats) : repeats);
  const sizes_run first = s->pattern.at[0];
  if (has_least && !is_full && s->pattern.n == 1 && first.lo == 0 && first.hi == 0 && least == s->set->period) {
    tn_text_printf(&s->words, "a positive multiple of %lld", (long long)least);
    return;
  }
  if (has_least) tn_text_printf(&s->words, is_full ? "at least %lld" : "at least %lld and ", (long long)least);
  for (size_t i = 0; i < s->pattern.n && !is_full; i++) {
    if (i > 0) tn_text_addz(&s->words, " or ");
    sizes_say_remainder(s, s->pattern.at[i]);
  }
}

bool tn_sizes_describe(tn_symtab *t, tn_arena *arena, const tn_sym_set *set, int64_t from, tn_size_words *out) {
  sizes s = {.t = t, .arena = arena, .set = set, .from = from > set->lo ? from : set->lo};
  tn_text_init(&s.words, arena);
  sizes_split(&s);
  if (s.alone.n > SIZES_RUNS || s.pattern.n > SIZES_RUNS) return false;
  for (size_t i = 0; i < s.alone.n; i++) sizes_say_alone(&s, s.alone.at[i]);
  sizes_say_pattern(&s);
  if (!s.condition) return false;
  out->condition = s.condition;
  out->words = tn_text_z(&s.words);
  return true;
}
