/* Discrete Fourier transforms of any length in double: by factors up to 7 where the length has no other, as a
 * convolution of a power-of-two length (Bluestein) where it has. */
#ifndef TN_KERN_FFT_H
#define TN_KERN_FFT_H

#include "kern/kern.h"

enum { TN_FFT_MAX_FACTORS = 40 };

typedef struct tn_fft_factors {
  int64_t n;
  int count;
  int radix[TN_FFT_MAX_FACTORS];
  const double *roots; /* n complex numbers exp(-2 pi i k / n) */
} tn_fft_factors;

typedef struct tn_fft {
  int64_t n;
  bool is_inverse;      /* exp(+...), divided by n */
  bool is_chirp;        /* Bluestein: `core` has length m >= 2n - 1 */
  tn_fft_factors core;  /* length n, or m */
  const double *chirp;  /* n complex: exp(-pi i k^2 / n) */
  const double *filter; /* m complex: transform of the conjugate chirp, divided by m */
} tn_fft;

/* Tables for length n >= 1, in the call's scratch. */
TN_MUST_CHECK tn_status tn_fft_make(tn_kcall *k, int64_t n, bool is_inverse, tn_fft *out);
int64_t tn_fft_room(const tn_fft *f); /* doubles of working memory that a run needs */
/* Transforms n complex numbers (re, im pairs) in place. */
void tn_fft_run(const tn_fft *f, double *x, double *room);

#endif
