/* Memory of a session and the services for kernels. */
#include "rt/session.h"

enum { HOST_CHUNK = 1 << 16, HOST_MIN_ITEMS = 8 };

bool tn_rt_grow(tn_rt_session *s, tn_rt_block *b, size_t bytes, size_t keep) {
  size_t want;
  if (b->ptr && bytes <= b->bytes) return true;
  if (!tn_align_size(bytes ? bytes : 1, TN_RT_ALIGN, &want)) return false;
  const int64_t after = s->total_bytes - (keep ? 0 : (int64_t)b->bytes);
  if (s->max_memory > 0 && (want > (size_t)s->max_memory || (int64_t)want > s->max_memory - after)) {
    if (!s->denied_bytes) s->denied_bytes = want > INT64_MAX / 2 ? INT64_MAX : after + (int64_t)want;
    return false;
  }
  if (keep == 0) { /* the old content is not needed: never both at once */
    tn_rt_drop(s, b);
  }
  void *ptr = tn_alloc(s->allocator, want);
  if (!ptr) return false;
  s->total_bytes += (int64_t)want;
  if (b->ptr) {
    memcpy(ptr, b->ptr, keep < b->bytes ? keep : b->bytes);
    tn_rt_drop(s, b);
  }
  *b = (tn_rt_block){ptr, want};
  return true;
}

void tn_rt_drop(tn_rt_session *s, tn_rt_block *b) {
  if (!b->ptr) return;
  s->total_bytes -= (int64_t)b->bytes;
  tn_free(s->allocator, b->ptr, b->bytes);
  *b = (tn_rt_block){NULL, 0};
}

void tn_rt_chunks_reset(tn_rt_chunks *c) { c->current = c->used = c->n_given = 0; }

static bool host_add_chunk(tn_rt_session *s, tn_rt_chunks *c, size_t bytes) {
  if (c->n == c->cap) {
    tn_rt_block list = {c->at, c->cap * sizeof *c->at};
    const size_t cap = c->cap ? c->cap * 2 : 8;
    if (!tn_rt_grow(s, &list, cap * sizeof *c->at, list.bytes)) return false;
    c->at = list.ptr;
    c->cap = list.bytes / sizeof *c->at;
  }
  c->at[c->n] = (tn_rt_block){NULL, 0};
  if (!tn_rt_grow(s, &c->at[c->n], bytes > HOST_CHUNK ? bytes : HOST_CHUNK, 0)) return false;
  c->n++;
  return true;
}

/* The same requests after a reset get the same places, so a second run needs no new chunk. Chunks that
 * were passed over because they are too small make room for a larger one: they served smaller shapes. */
static void *host_bump(tn_rt_session *s, tn_rt_chunks *c, size_t bytes, size_t align) {
  size_t need;
  if (!tn_align_size(bytes ? bytes : 1, align, &need)) return NULL;
  while (c->current < c->n && need > c->at[c->current].bytes - c->used) {
    c->current++;
    c->used = 0;
  }
  if (c->current == c->n) {
    while (c->n > c->n_given) tn_rt_drop(s, &c->at[--c->n]);
    c->current = c->n;
    if (!host_add_chunk(s, c, need)) return NULL;
  }
  c->n_given = c->current + 1;
  char *const ptr = (char *)c->at[c->current].ptr + c->used;
  c->used += need;
  return ptr;
}

void tn_rt_chunks_drop(tn_rt_session *s, tn_rt_chunks *c) {
  for (size_t i = 0; i < c->n; i++) tn_rt_drop(s, &c->at[i]);
  tn_rt_block list = {c->at, c->cap * sizeof *c->at};
  tn_rt_drop(s, &list);
  *c = (tn_rt_chunks){0};
}

tn_status tn_rt_reserve(tn_rt_session *s, tn_karg *arg, tn_rt_block *block, size_t keep, tn_error *err) {
  size_t bytes;
  if (!tn_dtype_bytes(arg->dtype, arg->count, &bytes)) return tn_error_set(err, TN_LIMIT, "a tensor is too large");
  if (!tn_rt_grow(s, block, bytes, keep)) {
    arg->data = block->ptr;
    return tn_error_set(err, TN_OOM, "no memory for a tensor of %zu bytes", bytes);
  }
  arg->data = block->ptr;
  return TN_OK;
}

/* Items beyond n_items wait for reuse; unused places are NULL. */
static bool host_grow_items(tn_rt_session *s, tn_karg *seq) {
  tn_rt_block list = {seq->items, (size_t)seq->cap_items * sizeof *seq->items};
  const size_t have = list.bytes, cap = seq->cap_items ? (size_t)seq->cap_items * 2 : HOST_MIN_ITEMS;
  if (!tn_rt_grow(s, &list, cap * sizeof *seq->items, have)) return false;
  memset((char *)list.ptr + have, 0, list.bytes - have);
  seq->items = list.ptr;
  seq->cap_items = (int64_t)(list.bytes / sizeof *seq->items);
  return true;
}

tn_rt_item *tn_rt_item_insert(tn_rt_session *s, tn_karg *seq, int64_t at) {
  if (at < 0 || at > seq->n_items) return NULL;
  if (seq->n_items == seq->cap_items && !host_grow_items(s, seq)) return NULL;
  tn_karg *item = seq->items[seq->n_items];
  if (!item) {
    tn_rt_block block = {NULL, 0};
    if (!tn_rt_grow(s, &block, sizeof(tn_rt_item), 0)) return NULL;
    memset(block.ptr, 0, block.bytes);
    item = &((tn_rt_item *)block.ptr)->arg;
  }
  memmove(&seq->items[at + 1], &seq->items[at], (size_t)(seq->n_items - at) * sizeof *seq->items);
  seq->items[at] = item;
  seq->n_items++;
  return (tn_rt_item *)(void *)item;
}

static void host_items_drop(tn_rt_session *s, tn_karg *seq, int depth) {
  for (int64_t i = 0; i < seq->cap_items && seq->items[i]; i++) {
    tn_rt_item *item = (tn_rt_item *)(void *)seq->items[i];
    if (depth < TN_RT_MAX_NESTING) host_items_drop(s, &item->arg, depth + 1);
    tn_rt_drop(s, &item->block);
    size_t bytes = 0;
    const bool ok = tn_align_size(sizeof *item, TN_RT_ALIGN, &bytes);
    TN_ASSERT(ok);
    (void)ok;
    tn_rt_block own = {item, bytes};
    tn_rt_drop(s, &own);
  }
  tn_rt_block list = {seq->items, (size_t)seq->cap_items * sizeof *seq->items};
  tn_rt_drop(s, &list);
  seq->items = NULL;
  seq->n_items = seq->cap_items = 0;
}

void tn_rt_items_drop(tn_rt_session *s, tn_karg *seq) { host_items_drop(s, seq, 0); }

static tn_status host_assign(tn_rt_session *s, tn_karg *arg, tn_rt_block *block, const tn_karg *src, int depth,
                             tn_error *err) {
  if (depth > TN_RT_MAX_NESTING) return tn_error_set(err, TN_LIMIT, "sequences are nested too deeply");
  arg->kind = src->kind;
  arg->dtype = src->dtype;
  arg->n_items = 0;
  if (src->kind == TN_KARG_TENSOR) {
    arg->rank = src->rank;
    arg->count = src->count;
    memcpy(arg->dims, src->dims, sizeof arg->dims);
    TN_TRY(tn_rt_reserve(s, arg, block, 0, err));
    tn_k_copy(src->dtype, arg->data, 0, src->data, 0, src->count);
    return TN_OK;
  }
  arg->rank = -1;
  for (int64_t i = 0; i < src->n_items; i++) {
    tn_rt_item *item = tn_rt_item_insert(s, arg, i);
    if (!item) return tn_error_set(err, TN_OOM, "no memory for an element of a sequence");
    TN_TRY(host_assign(s, &item->arg, &item->block, src->items[i], depth + 1, err));
  }
  return TN_OK;
}

tn_status tn_rt_assign(tn_rt_session *s, tn_karg *arg, tn_rt_block *block, const tn_karg *src, tn_error *err) {
  return host_assign(s, arg, block, src, 0, err);
}

static tn_status host_alloc(void *self, tn_kcall *k, tn_karg *arg) {
  tn_rt_session *s = self;
  const uintptr_t at = (uintptr_t)arg, first = (uintptr_t)s->args;
  if (at < first || at >= first + s->p->n_values * sizeof *arg || !arg->is_late)
    return tn_k_fail(k, TN_INTERNAL, "memory was asked for what is no late output");
  return tn_rt_reserve(s, arg, &s->blocks[(at - first) / sizeof *arg], 0, k->err);
}

static void *host_scratch(void *self, size_t bytes) {
  tn_rt_session *s = self;
  return host_bump(s, &s->scratch, bytes, TN_RT_ALIGN);
}

static char *host_string(void *self, size_t bytes) {
  tn_rt_session *s = self;
  return host_bump(s, &s->strings, bytes, 1);
}

static void *host_cache(void *self, tn_kcall *k, int slot, size_t bytes, bool *fresh) {
  tn_rt_session *s = self;
  tn_rt_step *step = k->step;
  if (slot < 0 || slot >= TN_RT_CACHES) return NULL;
  const size_t size = bytes ? bytes : 1;
  *fresh = step->cache_bytes[slot] != size;
  if (!*fresh) return step->cache[slot].ptr;
  step->cache_bytes[slot] = 0;
  if (!tn_rt_grow(s, &step->cache[slot], size, 0)) return NULL;
  step->cache_bytes[slot] = size;
  return step->cache[slot].ptr;
}

static tn_karg *host_item(void *self, tn_kcall *k, tn_karg *seq, int64_t at, tn_dtype d, int rank,
                          const int64_t *dims) {
  tn_rt_session *s = self;
  tn_rt_item *item = tn_rt_item_insert(s, seq, at);
  if (!item) return NULL;
  tn_karg *arg = &item->arg;
  arg->kind = rank < 0 ? TN_KARG_SEQUENCE : TN_KARG_TENSOR;
  arg->dtype = d;
  arg->rank = rank < 0 ? -1 : rank;
  arg->n_items = 0;
  arg->count = 0;
  if (rank < 0) return arg;
  for (int i = 0; i < rank && i < TN_K_MAX_RANK; i++) arg->dims[i] = dims[i];
  if (rank > TN_K_MAX_RANK || !tn_dims_count(dims, rank, &arg->count)) return NULL;
  return tn_rt_reserve(s, arg, &item->block, 0, k->err) == TN_OK ? arg : NULL;
}

const tn_khost tn_rt_host = {host_alloc, host_scratch, host_cache, host_string, host_item};
