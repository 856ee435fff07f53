/* The table: hash-consing, the order of nodes, symbols. */
#include "sym/node.h"

/* The hash of a sum is a sum over its terms, so that one more term costs one more addition: see tn_sym_intern_longer.
 */
static uint64_t new_hash(tn_sym_kind kind, int64_t k, const tn_sym *args, const int64_t *coefs, size_t n) {
  uint64_t h = tn_hash_mix((uint64_t)kind + 1, (uint64_t)k);
  for (size_t i = 0; coefs && i < n; i++) h += tn_hash_mix(args[i]->hash, (uint64_t)coefs[i]);
  if (coefs) return h;
  for (size_t i = 0; i < n; i++) {
    h = tn_hash_mix(h, args[i]->hash);
  }
  return h;
}

static bool new_is(tn_sym e, tn_sym_kind kind, int64_t k, const tn_sym *args, const int64_t *coefs, size_t n) {
  if (e->kind != kind || e->k != k || e->n != n) return false;
  for (size_t i = 0; i < n; i++)
    if (e->args[i] != args[i] || (coefs && e->coefs[i] != coefs[i])) return false;
  return true;
}

static void new_grow(tn_symtab *t) {
  const tn_sym *const old = t->slots;
  const size_t n_old = t->n_slots;
  t->n_slots = n_old ? n_old * 2 : 256;
  t->slots = TN_NEW_ARRAY(t->arena, tn_sym, t->n_slots);
  for (size_t i = 0; i < n_old; i++) {
    if (!old[i]) continue;
    size_t at = (size_t)old[i]->hash & (t->n_slots - 1);
    while (t->slots[at]) at = (at + 1) & (t->n_slots - 1);
    t->slots[at] = old[i];
  }
}

static tn_sym new_node(tn_symtab *t, tn_sym_kind kind, int64_t k, const tn_sym *args, const int64_t *coefs, size_t n,
                       uint64_t hash) {
  struct tn_sym_node *const e = TN_NEW(t->arena, struct tn_sym_node);
  uint64_t size = 1;
  for (size_t i = 0; i < n; i++) size += args[i]->size;
  e->kind = (uint8_t)kind;
  e->id = t->n_nodes++;
  e->n = (uint32_t)n;
  e->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
  e->k = k;
  e->hash = hash;
  e->args = args;
  e->coefs = coefs;
  return e;
}

static const void *new_copy(tn_symtab *t, const void *from, size_t n, size_t size) {
  if (n == 0 || !from) return NULL;
  void *const to = tn_arena_alloc(t->arena, n, size);
  memcpy(to, from, n * size);
  return to;
}

static tn_sym new_find(tn_symtab *t, tn_sym_kind kind, int64_t k, const tn_sym *args, const int64_t *coefs, size_t n,
                       uint64_t hash, bool own) {
  if ((size_t)t->n_nodes * 2 >= t->n_slots) new_grow(t);
  size_t at = (size_t)hash & (t->n_slots - 1);
  while (t->slots[at]) {
    if (t->slots[at]->hash == hash && new_is(t->slots[at], kind, k, args, coefs, n)) return t->slots[at];
    at = (at + 1) & (t->n_slots - 1);
  }
  if (!own) {
    args = new_copy(t, args, n, sizeof *args);
    coefs = new_copy(t, coefs, n, sizeof *coefs);
  }
  return t->slots[at] = new_node(t, kind, k, args, coefs, n, hash);
}

tn_sym tn_sym_intern(tn_symtab *t, tn_sym_kind kind, int64_t k, const tn_sym *args, const int64_t *coefs, size_t n) {
  return new_find(t, kind, k, args, coefs, n, new_hash(kind, k, args, coefs, n), false);
}

tn_sym tn_sym_intern_own(tn_symtab *t, tn_sym_kind kind, int64_t k, const tn_sym *args, const int64_t *coefs,
                         size_t n) {
  return new_find(t, kind, k, args, coefs, n, new_hash(kind, k, args, coefs, n), true);
}

tn_sym tn_sym_intern_longer(tn_symtab *t, tn_sym sum, size_t at, const tn_sym *args, const int64_t *coefs) {
  const uint64_t hash = sum->hash + tn_hash_mix(args[at]->hash, (uint64_t)coefs[at]);
  return new_find(t, TN_SYM_ADD, sum->k, args, coefs, (size_t)sum->n + 1, hash, true);
}

tn_sym tn_sym_intern2(tn_symtab *t, tn_sym_kind kind, tn_sym a, tn_sym b) {
  const tn_sym args[2] = {a, b};
  return tn_sym_intern(t, kind, 0, args, NULL, 2);
}

tn_sym tn_sym_int(tn_symtab *t, int64_t v) { return tn_sym_intern(t, TN_SYM_INT, v, NULL, NULL, 0); }

/* Distinct nodes differ somewhere, so the first differing argument decides and no recursion is needed. Past 64 levels
 * the hash decides: also structural, only not pretty. */
int tn_sym_compare(tn_sym a, tn_sym b) {
  for (int depth = 0; a != b; depth++) {
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (depth == 64) return a->hash != b->hash ? (a->hash < b->hash ? -1 : 1) : (a->id < b->id ? -1 : 1);
    const uint32_t n = a->n < b->n ? a->n : b->n;
    uint32_t i = 0;
    while (i < n && a->args[i] == b->args[i]) i++;
    if (i < n) {
      const tn_sym next = a->args[i];
      b = b->args[i];
      a = next;
      continue;
    }
    if (a->n != b->n) return a->n < b->n ? -1 : 1;
    for (i = 0; a->coefs && i < n; i++)
      if (a->coefs[i] != b->coefs[i]) return a->coefs[i] < b->coefs[i] ? -1 : 1;
    return a->k < b->k ? -1 : 1;
  }
  return 0;
}

static void sort_merge(tn_sym *at, size_t mid, size_t n, tn_sym *tmp) {
  memcpy(tmp, at, mid * sizeof *at);
  size_t i = 0, j = mid, to = 0;
  while (i < mid && j < n) at[to++] = tn_sym_compare(at[j], tmp[i]) < 0 ? at[j++] : tmp[i++];
  while (i < mid) at[to++] = tmp[i++];
}

static void sort_range(tn_sym *at, size_t n, tn_sym *tmp) {
  if (n < 2) return;
  const size_t mid = n / 2;
  sort_range(at, mid, tmp);
  sort_range(at + mid, n - mid, tmp);
  if (tn_sym_compare(at[mid], at[mid - 1]) < 0) sort_merge(at, mid, n, tmp);
}

void tn_sym_sort(tn_symtab *t, tn_sym *at, size_t n) {
  tn_sym small[32];
  sort_range(at, n, n <= 64 ? small : TN_NEW_ARRAY(t->arena, tn_sym, n / 2 + 1));
}

tn_sym_memo *tn_sym_memo_of(tn_symtab *t, tn_sym e) {
  const size_t old = t->memo.n;
  if (e->id >= old) {
    const size_t need = t->n_nodes;
    if (need > t->memo.cap) t->memo.at = tn_vec_grow(t->arena, t->memo.at, old, &t->memo.cap, need, sizeof *t->memo.at);
    memset(t->memo.at + old, 0, (need - old) * sizeof *t->memo.at);
    t->memo.n = need;
  }
  return &t->memo.at[e->id];
}

tn_symtab *tn_symtab_new(tn_ctx *ctx) { return tn_symtab_new_in(ctx, &ctx->arena); }

tn_symtab *tn_symtab_new_in(tn_ctx *ctx, tn_arena *arena) {
  tn_symtab *const t = TN_NEW(arena, tn_symtab);
  t->ctx = ctx;
  t->arena = arena;
  t->epoch = 1;
  t->zero = tn_sym_int(t, 0);
  t->one = tn_sym_int(t, 1);
  t->overflow = tn_sym_intern(t, TN_SYM_OVERFLOW, 0, NULL, NULL, 0);
  return t;
}

static bool find_number(const tn_symtab *t, const char *name, uint64_t *out_number) {
  const char *const known = tn_intern_find(&t->ctx->names, tn_str_of(name));
  return known && tn_map_find(&t->by_name, tn_map_key(known), out_number);
}

tn_symbol *tn_sym_find_symbol(tn_symtab *t, const char *name) {
  uint64_t number;
  if (!find_number(t, name, &number)) return NULL;
  return tn_sym_symbol(t, (uint32_t)number);
}

tn_symbol *tn_sym_add_symbol(tn_symtab *t, const char *name) {
  tn_symbol *const known = tn_sym_find_symbol(t, name);
  if (known) return known;
  const uint32_t number = (uint32_t)t->symbols.n;
  tn_symbol s = {.name = tn_ctx_namez(t->ctx, name), .max = INT64_MAX, .multiple_of = 1};
  s.var = tn_sym_intern(t, TN_SYM_VAR, (int64_t)number, NULL, NULL, 0);
  tn_vec_push(t->arena, &t->symbols, s);
  tn_map_set(t->arena, &t->by_name, tn_map_key(s.name), number);
  return &t->symbols.at[number];
}

tn_symbol *tn_sym_fresh_symbol(tn_symtab *t, const char *stem) {
  uint64_t number;
  const char *name = stem;
  if (find_number(t, name, &number)) {
    const uint64_t key = tn_map_key(tn_ctx_namez(t->ctx, stem));
    uint64_t next = 1;
    (void)tn_map_find(&t->stems, key, &next);
    do name = tn_arena_printf(t->arena, "%s_%llu", stem, (unsigned long long)next++);
    while (find_number(t, name, &number));
    tn_map_set(t->arena, &t->stems, key, next);
  }
  return tn_sym_add_symbol(t, name);
}

tn_symbol *tn_sym_awaited_symbol(tn_symtab *t, const char *stem) {
  tn_symbol *const s = tn_sym_find_symbol(t, stem);
  if (!s || !s->is_awaited) return tn_sym_fresh_symbol(t, stem);
  s->is_awaited = false;
  return s;
}

uint32_t tn_sym_n_symbols(const tn_symtab *t) { return (uint32_t)t->symbols.n; }

/* The caller may narrow the facts through the pointer, so what was derived from them is derived again. */
tn_symbol *tn_sym_symbol(tn_symtab *t, uint32_t number) {
  TN_ASSERT(number < t->symbols.n);
  t->epoch++;
  return &t->symbols.at[number];
}

const tn_symbol *tn_sym_fact(const tn_symtab *t, tn_sym var) { return &t->symbols.at[var->k]; }

tn_sym tn_sym_fixed(tn_symtab *t, tn_sym e) {
  if (e->kind != TN_SYM_VAR) return e;
  const tn_symbol *const s = tn_sym_fact(t, e);
  return s->min == s->max ? tn_sym_int(t, s->min) : e;
}

tn_sym tn_sym_bound_size(tn_symtab *t, tn_sym e, const char *stem) {
  if (e->size <= TN_SYM_MAX_SIZE) return e;
  uint64_t known;
  if (tn_map_find(&t->defined, tn_map_key(e), &known)) return t->symbols.at[known].var;
  const tn_interval b = tn_sym_bounds(t, e);
  const int64_t d = tn_sym_divisor(t, e);
  tn_symbol *const s = tn_sym_fresh_symbol(t, stem);
  s->source = TN_SOURCE_DEFINED;
  s->definition = e;
  s->min = b.lo;
  s->max = b.hi;
  s->multiple_of = d > 0 ? d : 1;
  tn_map_set(t->arena, &t->defined, tn_map_key(e), (uint64_t)s->var->k);
  return s->var;
}

int64_t tn_sym_gcd(int64_t a, int64_t b) {
  if (a == INT64_MIN) a = INT64_C(1) << 62;
  if (b == INT64_MIN) b = INT64_C(1) << 62;
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) {
    const int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}
