/* The only file that asks which compiler this is. */
#ifndef TN_BASE_COMPILER_H
#define TN_BASE_COMPILER_H

#include <assert.h>

#define TN_MUST_CHECK __attribute__((warn_unused_result))
#define TN_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#define TN_NORETURN __attribute__((noreturn))
#define TN_NONNULL __attribute__((nonnull))
#define TN_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define TN_EXPORT __attribute__((visibility("default")))
#define TN_NOINLINE __attribute__((noinline))
#define TN_INLINE static inline __attribute__((always_inline))
#define TN_VECTOR(bytes) __attribute__((vector_size(bytes)))
#define TN_SHUFFLE __builtin_shufflevector /* of two vectors, elements by constant numbers */
#if defined(__clang__)
#define TN_UNROLL _Pragma("clang loop unroll(full)")
#define TN_IN_PLACE_LOOP _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored "-Wpass-failed" /* of loops that call functions */
#else
#define TN_UNROLL _Pragma("GCC unroll 32")
#define TN_IN_PLACE_LOOP _Pragma("GCC ivdep") /* what iteration i writes, no other iteration reads */
#endif
/* Zero bits below the lowest and above the highest one bit of x != 0. */
#define TN_CTZ64(x) __builtin_ctzll(x)
#define TN_CLZ64(x) __builtin_clzll(x)
#define TN_COUNT(a) (sizeof(a) / sizeof((a)[0]))

#if defined(__x86_64__)
#define TN_CPU_RELAX() __builtin_ia32_pause()
#else
#define TN_CPU_RELAX() ((void)0)
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TN_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TN_ASAN 1
#endif
#endif
#ifndef TN_ASAN
#define TN_ASAN 0
#endif

/* For our own bugs only; on in dev and sanitizer builds, gone in release. Bad input gets a status instead. */
#ifdef TN_DEBUG
#define TN_ASSERT(cond) assert(cond)
#else
#define TN_ASSERT(cond) ((void)sizeof(cond))
#endif

#endif
