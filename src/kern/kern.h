/* Compute kernels: plain pointers, sizes and strides; no graphs, no symbols, no allocation of their own.
 *
 * A step kernel is found by name and called with a tn_kcall. It is registered by a line that begins with
 *
 *     TN_KERNEL(softmax, TN_K_SIZES) { ... body of tn_status kernel_softmax(tn_kcall *k) ... }
 *
 * in some src/kern/<family>.c; the build scans for these lines (kernel_list.inc: TN_KERNEL_ROW(name)). A kernel serves
 * every element type its operator allows, or returns UNSUPPORTED naming the type. Heavy loops divide work with
 * tn_pool_for, so results do not depend on the number of threads. */
#ifndef TN_KERN_KERN_H
#define TN_KERN_KERN_H

#include "base/dtype.h"
#include "base/status.h"
#include "base/thread.h"

enum { TN_K_MAX_RANK = 16 };

/* A map has two items, tensors of rank 1 and one length: its keys and its values. */
typedef enum tn_kkind { TN_KARG_TENSOR, TN_KARG_SEQUENCE, TN_KARG_OPTIONAL, TN_KARG_MAP } tn_kkind;

/* One operand at run time. Tensors are contiguous, row-major, 64-byte aligned where Tenon allocated them (callers'
 * buffers may be aligned to the element only). */
typedef struct tn_karg {
  tn_kkind kind;
  tn_dtype dtype;
  int rank; /* -1 in a late output before tn_k_out */
  int64_t dims[TN_K_MAX_RANK];
  int64_t count; /* product of dims */
  void *data;
  bool is_const;          /* the same bytes in every run: packed forms may be kept (tn_k_cache) */
  bool is_late;           /* an output whose size the kernel decides: data is NULL until tn_k_out */
  struct tn_karg **items; /* but for tensors: elements, owned by the value */
  int64_t n_items, cap_items;
} tn_karg;

typedef enum tn_kattr_kind {
  TN_KATTR_INT,
  TN_KATTR_FLOAT,
  TN_KATTR_STR,
  TN_KATTR_INTS,
  TN_KATTR_FLOATS,
  TN_KATTR_STRS,
  TN_KATTR_TENSOR
} tn_kattr_kind;

typedef struct tn_kattr { /* names and meaning as in the operator's schema, defaults filled in */
  const char *name;
  tn_kattr_kind kind;
  int64_t i; /* also DTYPE attributes */
  double f;
  tn_str s;
  int64_t n;
  const int64_t *ints;
  const double *floats;
  const tn_str *strs;
  const tn_karg *tensor;
} tn_kattr;

typedef struct tn_kcall tn_kcall;

/* What a kernel may ask of whoever runs it. */
typedef struct tn_khost {
  /* Memory for a late tensor output: sets arg->data for arg's dims and dtype. */
  tn_status (*alloc)(void *self, tn_kcall *k, tn_karg *arg);
  /* `bytes` of scratch, 64-byte aligned, valid until the kernel returns; asking again moves nothing already given. */
  void *(*scratch)(void *self, size_t bytes);
  /* Storage that stays with this step of this session between runs; *fresh says that it was just made (or changed size)
   * and holds nothing. One block per slot, slots 0..3. NULL when memory ended. */
  void *(*cache)(void *self, tn_kcall *k, int slot, size_t bytes, bool *fresh);
  /* Bytes of a string element, valid until the next run. */
  char *(*string)(void *self, size_t bytes);
  /* A new item inserted at position `at` (0 <= at <= n_items) of a sequence or optional output, or of an item that is
   * one itself; its data for (dtype, rank, dims) is set and not initialised. rank < 0 makes an empty sequence item
   * instead. NULL when memory ended. */
  tn_karg *(*item)(void *self, tn_kcall *k, tn_karg *seq, int64_t at, tn_dtype d, int rank, const int64_t *dims);
} tn_khost;

struct tn_kcall {
  const tn_karg *const *in; /* NULL = absent */
  tn_karg *const *out;      /* NULL = absent */
  int n_in, n_out;
  const tn_kattr *attrs;
  int n_attrs;
  uint64_t declared; /* a set of bits: outputs whose planned shape is only what the model declares */
  tn_pool *pool;     /* may be NULL: one thread */
  const tn_khost *host;
  void *host_self;
  void *step;    /* the host's own */
  uint64_t seed; /* of this step in this run, for random kernels */
  tn_error *err;
};

/* Flags of a kernel row. */
enum {
  /* Sets the dims of every tensor output itself through tn_k_out: may have late outputs and inputs of a rank that is
   * known only at run time. Without it outputs come with dims and data ready. */
  TN_K_SIZES = 1,
  /* Output 0 may have the memory of an input of the same dims and element size: element i of it is written after
   * element i of every such input was read, and no element of them is read later. */
  TN_K_IN_PLACE = 2,
  TN_K_IN_PLACE_FIRST = 4, /* the same of input 0 alone */
  /* Output 0 is the inputs one after another where the dims before attribute `axis` are 1. An input that lies already
   * where it has to be is not touched. */
  TN_K_JOINS = 8
};

typedef tn_status (*tn_kernel_fn)(tn_kcall *k);
typedef struct tn_kernel {
  const char *name;
  tn_kernel_fn run;
  uint32_t flags;
} tn_kernel;

#define TN_KERNEL(id, flags_)                                    \
  static tn_status kernel_##id(tn_kcall *k);                     \
  extern const tn_kernel tn_kernel_##id;                         \
  const tn_kernel tn_kernel_##id = {#id, kernel_##id, (flags_)}; \
  static tn_status kernel_##id(tn_kcall *k)

const tn_kernel *tn_kernel_find(const char *name); /* NULL when there is none */
int tn_kernel_count(void);
const tn_kernel *tn_kernel_at(int i); /* sorted by name */

#define tn_k_fail(k, code, ...) tn_error_set((k)->err, (code), __VA_ARGS__)
/* UNSUPPORTED: "element type f8e5m2 of input 0". */
TN_MUST_CHECK tn_status tn_k_no_dtype(tn_kcall *k, int input);

/* Attributes by name; absent ones give the second form's value. */
const tn_kattr *tn_k_attr(const tn_kcall *k, const char *name); /* NULL when absent */
int64_t tn_k_int(const tn_kcall *k, const char *name, int64_t absent);
double tn_k_float(const tn_kcall *k, const char *name, double absent);
bool tn_k_str_is(const tn_kcall *k, const char *name, const char *z); /* false when absent */

static inline const tn_karg *tn_k_in(const tn_kcall *k, int i) { return i < k->n_in ? k->in[i] : NULL; }
static inline tn_karg *tn_k_outp(const tn_kcall *k, int i) { return i < k->n_out ? k->out[i] : NULL; }

/* Says what output i's dims are (TN_K_SIZES kernels, before writing). A planned output must agree: a difference is
 * INTERNAL (the compiler's shape rule and the kernel disagree), or MISMATCH where the model declares the shape. A late
 * one gets memory. No-op for an absent output. */
TN_MUST_CHECK tn_status tn_k_out(tn_kcall *k, int i, int rank, const int64_t *dims);
TN_MUST_CHECK tn_status tn_k_axis(tn_kcall *k, int64_t axis, int rank, int *out);
TN_MUST_CHECK tn_status tn_k_scratch(tn_kcall *k, size_t bytes, void **out); /* OOM when NULL */
/* host->cache, host->string and host->item with OOM as a status. */
TN_MUST_CHECK tn_status tn_k_cache(tn_kcall *k, int slot, size_t bytes, void **out, bool *out_fresh);
TN_MUST_CHECK tn_status tn_k_string(tn_kcall *k, size_t bytes, char **out);
TN_MUST_CHECK tn_status tn_k_item(tn_kcall *k, tn_karg *seq, int64_t at, tn_dtype d, int rank, const int64_t *dims,
                                  tn_karg **out);
/* INTERNAL unless inputs 0..n_in-1 and outputs 0..n_out-1 are present: a program from a file may lack them. */
TN_MUST_CHECK tn_status tn_k_need(tn_kcall *k, int n_in, int n_out);
/* A deep copy of `src` (tensor, sequence or optional) into output i. */
TN_MUST_CHECK tn_status tn_k_out_copy(tn_kcall *k, int i, const tn_karg *src);
/* A deep copy of `src` as a new item of a sequence or optional. */
TN_MUST_CHECK tn_status tn_k_item_copy(tn_kcall *k, tn_karg *seq, int64_t at, const tn_karg *src);

/* Integer input as int64: element i of a tensor of any integer type. */
static inline int64_t tn_k_i64(const tn_karg *a, int64_t i) { return tn_load_i64(a->dtype, a->data, i); }
/* Broadcast of the inputs' dims; MISMATCH names the dim. */
TN_MUST_CHECK tn_status tn_k_bcast(tn_kcall *k, const tn_karg *const *args, int n, int *out_rank, int64_t *out_dims);
/* Element strides of `a` when read as (rank, dims), 0 where it broadcasts. */
void tn_k_bcast_strides(const tn_karg *a, int rank, int64_t *out_strides);
/* Merges neighbouring dims that are contiguous (or broadcast) in all `n` operands; rank >= 1 after. In place. */
void tn_k_collapse(int *rank, int64_t *dims, int64_t *const *strides, int n);
/* Copies n elements of type d between arrays that do not overlap, from element si to element di (string elements share
 * their bytes). */
void tn_k_copy(tn_dtype d, void *dst, int64_t di, const void *src, int64_t si, int64_t n);

/* CPU level by feature bits: 1 (SSE2 / portable), 3 (AVX2+FMA), 4 (AVX-512 F, BW, DQ, VL). TENON_CPU=1|3|4 lowers it
 * (another value is ignored). */
int tn_cpu_level(void);

#endif
