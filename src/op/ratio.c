/* Content of float tensors beyond whole numbers: exact quotients num / den and float32 products num * c.
 *
 * What a rule may say of a float32 tensor:
 *  - A size that was cast to float stays that integer. float32 holds integers up to 2^24, so wherever a claim leans on
 *    it (rounding a quotient, casting back, a difference) that bound is proved or demanded of the run.
 *  - num / den stands for one float division of exact operands. With |num| <= 2^24 the quotient is nearer to num / den
 *    than any integer that is not it, so floor and ceil of the rounded quotient are those of the exact one (half of
 * that for round). Hence at most one inexact division: further factors must be powers of two.
 *  - num * c, c not a ratio of small numbers, is floor(float32(num) * c) = f32scale when rounded down: right for all
 * num. float64 follows the same rules with 2^53, which no size of a tensor in memory passes. */
#include "op/ratio.h"

#include <math.h>

enum { RATIO_MAX_PART = 4096, RATIO_MAX_BITS = 20 };

typedef struct ratio {
  tn_sym num;
  int64_t den;
} ratio;

static bool ratio_is_pow2(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

static int64_t ratio_gcd(int64_t a, int64_t b) {
  while (b != 0) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static bool ratio_of(tn_rule *r, const tn_elem *e, ratio *out) {
  if (e->kind == TN_ELEM_SYM || e->kind == TN_ELEM_RATIO) {
    *out = (ratio){e->sym, e->kind == TN_ELEM_SYM ? 1 : e->den};
    return true;
  }
  if (e->kind != TN_ELEM_F64 || !(fabs(e->f) <= 0x1p24)) return false;
  for (int k = 0; k <= RATIO_MAX_BITS; k++) {
    const double p = ldexp(e->f, k);
    if (p < rint(p) || p > rint(p)) continue;
    const int64_t whole = (int64_t)p;
    if (k > 0 && (whole < -RATIO_MAX_PART || whole > RATIO_MAX_PART)) return false;
    *out = (ratio){tn_sym_int(r->syms, whole), INT64_C(1) << k};
    return true;
  }
  return false;
}

static tn_elem ratio_elem(tn_rule *r, tn_sym num, int64_t den) {
  if (den < 0 && den != INT64_MIN) return ratio_elem(r, tn_sym_neg(r->syms, num), -den);
  if (den <= 0) return (tn_elem){0};
  const int64_t d = tn_sym_divisor(r->syms, num);
  const int64_t g = d == 0 ? den : ratio_gcd(d, den);
  if (g > 1) num = tn_sym_divexact(r->syms, num, tn_sym_int(r->syms, g));
  den /= g;
  if (den == 1) return tn_elem_sym(num);
  if (tn_sym_is_int(num)) return tn_elem_round(r, (double)num->k / (double)den);
  if (den > INT64_C(1) << 24) return (tn_elem){0};
  return (tn_elem){.kind = TN_ELEM_RATIO, .sym = num, .den = den};
}

bool tn_elem_fits(tn_rule *r, tn_dtype d, tn_sym s, int bits) {
  if (d != TN_F32) return d == TN_F64;
  tn_symtab *const t = r->syms;
  if (tn_sym_bounds(t, s).hi <= 0) s = tn_sym_neg(t, s);
  const tn_sym most = tn_sym_int(t, INT64_C(1) << bits);
  const tn_sym fits = tn_sym_and(t, tn_sym_le(t, s, most), tn_sym_le(t, tn_sym_neg(t, most), s));
  if (tn_sym_prove(t, fits) == TN_FALSE) return false;
  return tn_rule_demand(r, fits, "float32 holds integers up to %lld exactly, and %s passes through it",
                        (long long)most->k, tn_sym_text(t, s)) == TN_OK;
}

static bool ratio_nonnegative(tn_rule *r, ratio a) { return tn_sym_bounds(r->syms, a.num).lo >= 0; }

/* a + sign * b; large operands whose difference is small would hide that they do not fit. */
static tn_elem ratio_sum(tn_rule *r, ratio a, ratio b, int sign) {
  tn_symtab *const t = r->syms;
  if (!ratio_is_pow2(a.den) || !ratio_is_pow2(b.den)) return (tn_elem){0};
  const int64_t den = a.den > b.den ? a.den : b.den;
  const bool grows = sign > 0 && ratio_nonnegative(r, a) && ratio_nonnegative(r, b);
  if (!grows && (!tn_elem_fits(r, r->out[0].dtype, a.num, 24) || !tn_elem_fits(r, r->out[0].dtype, b.num, 24)))
    return (tn_elem){0};
  const tn_sym left = tn_sym_muli(t, a.num, den / a.den), right = tn_sym_muli(t, b.num, sign * (den / b.den));
  return ratio_elem(r, tn_sym_add(t, left, right), den);
}

/* Both exact, or one of them a power of two. */
static tn_elem ratio_product(tn_rule *r, ratio a, ratio b) {
  int64_t den;
  const bool exact_a = ratio_is_pow2(a.den), exact_b = ratio_is_pow2(b.den);
  const bool shift_a = exact_a && tn_sym_is_int(a.num) && ratio_is_pow2(a.num->k);
  const bool shift_b = exact_b && tn_sym_is_int(b.num) && ratio_is_pow2(b.num->k);
  if (!(exact_a && exact_b) && !shift_a && !shift_b) return (tn_elem){0};
  if (!tn_mul_i64(a.den, b.den, &den)) return (tn_elem){0};
  return ratio_elem(r, tn_sym_mul(r->syms, a.num, b.num), den);
}

static tn_elem ratio_scaled(tn_rule *r, ratio a, double c) {
  const double f = c / (double)a.den;
  if (r->out[0].dtype != TN_F32 || !ratio_is_pow2(a.den) || !(fabs(f) > 0x1p-100 && fabs(f) < 0x1p100))
    return (tn_elem){0};
  return (tn_elem){.kind = TN_ELEM_SCALED, .sym = a.num, .f = f};
}

tn_elem tn_elem_add(tn_rule *r, const tn_elem *in, int sign) {
  ratio a, b;
  return ratio_of(r, &in[0], &a) && ratio_of(r, &in[1], &b) ? ratio_sum(r, a, b, sign) : (tn_elem){0};
}

/* A constant such as 1.5, neither whole nor a power of two: float32 may not hold the product with a size. */
static bool ratio_is_mixed(const tn_rule *r, ratio a) {
  return r->out[0].dtype != TN_F64 && tn_sym_is_int(a.num) && a.den > 1 && !ratio_is_pow2(a.num->k);
}

tn_elem tn_elem_mul(tn_rule *r, const tn_elem *in) {
  ratio a, b;
  const bool has_a = ratio_of(r, &in[0], &a), has_b = ratio_of(r, &in[1], &b);
  if (has_a && in[1].kind == TN_ELEM_F64 && (!has_b || ratio_is_mixed(r, b))) return ratio_scaled(r, a, in[1].f);
  if (has_b && in[0].kind == TN_ELEM_F64 && (!has_a || ratio_is_mixed(r, a))) return ratio_scaled(r, b, in[0].f);
  return has_a && has_b ? ratio_product(r, a, b) : (tn_elem){0};
}

tn_elem tn_elem_div(tn_rule *r, const tn_elem *in) {
  ratio a, b;
  int64_t den;
  if (!ratio_of(r, &in[0], &a) || !ratio_of(r, &in[1], &b)) return (tn_elem){0};
  if (!tn_sym_is_int(b.num) || b.num->k == 0) return (tn_elem){0};
  const int64_t by = b.num->k;
  if (!ratio_is_pow2(a.den) && !ratio_is_pow2(by)) return (tn_elem){0};
  if (!tn_mul_i64(a.den, by, &den)) return (tn_elem){0};
  return ratio_elem(r, tn_sym_muli(r->syms, a.num, b.den), den);
}

tn_elem tn_elem_negate(tn_rule *r, const tn_elem *e) {
  tn_elem n = *e;
  if (e->kind == TN_ELEM_SCALED)
    n.f = -e->f;
  else
    n.sym = tn_sym_neg(r->syms, e->sym);
  return n;
}

static tn_elem ratio_floor(tn_rule *r, tn_dtype d, const tn_elem *e) {
  if (e->kind == TN_ELEM_SCALED) return tn_elem_sym(tn_sym_f32scale(r->syms, e->sym, (float)e->f));
  if (e->kind != TN_ELEM_RATIO || !tn_elem_fits(r, d, e->sym, 24)) return (tn_elem){0};
  return tn_elem_sym(tn_sym_floordiv(r->syms, e->sym, tn_sym_int(r->syms, e->den)));
}

static tn_elem ratio_ceil(tn_rule *r, tn_dtype d, const tn_elem *e) {
  const tn_elem minus = tn_elem_negate(r, e);
  const tn_elem down = ratio_floor(r, d, &minus);
  return down.kind == TN_ELEM_SYM ? tn_elem_negate(r, &down) : down;
}

/* To the nearest integer, halves to the even one: an even quotient keeps its halves below, an odd one lifts them. */
static tn_elem ratio_nearest(tn_rule *r, tn_dtype d, const tn_elem *e) {
  tn_symtab *const t = r->syms;
  if (e->kind != TN_ELEM_RATIO || !tn_elem_fits(r, d, e->sym, 23)) return (tn_elem){0};
  const tn_sym den = tn_sym_int(t, e->den), up = tn_sym_addi(t, e->sym, e->den % 2 ? e->den / 2 : e->den / 2 - 1);
  const tn_sym odd = tn_sym_mod(t, tn_sym_floordiv(t, e->sym, den), tn_sym_int(t, 2));
  return tn_elem_sym(tn_sym_floordiv(t, e->den % 2 ? up : tn_sym_add(t, up, odd), den));
}

tn_elem tn_elem_whole(tn_rule *r, tn_dtype d, const tn_elem *e, tn_rounding how) {
  tn_symtab *const t = r->syms;
  if (e->kind == TN_ELEM_SYM) return *e;
  if (how == TN_ROUND_DOWN) return ratio_floor(r, d, e);
  if (how == TN_ROUND_UP) return ratio_ceil(r, d, e);
  if (how == TN_ROUND_EVEN) return ratio_nearest(r, d, e);
  const tn_elem down = ratio_floor(r, d, e);
  const bool flips = e->kind == TN_ELEM_SCALED && e->f < 0;
  const tn_interval b = tn_sym_bounds(t, e->sym);
  if (flips ? b.hi <= 0 : b.lo >= 0) return down;
  const tn_elem up = ratio_ceil(r, d, e);
  if (flips ? b.lo >= 0 : b.hi <= 0) return up;
  if (down.kind != TN_ELEM_SYM || up.kind != TN_ELEM_SYM) return (tn_elem){0};
  const tn_sym zero = tn_sym_int(t, 0);
  const tn_sym positive = flips ? tn_sym_le(t, e->sym, zero) : tn_sym_le(t, zero, e->sym);
  return tn_elem_sym(tn_sym_select(t, positive, down.sym, up.sym));
}

bool tn_elem_compare(tn_rule *r, const tn_elem *in, tn_sym *out_a, tn_sym *out_b) {
  ratio a, b;
  if (!ratio_of(r, &in[0], &a) || !ratio_of(r, &in[1], &b) || !ratio_is_pow2(a.den) || !ratio_is_pow2(b.den))
    return false;
  const int64_t den = a.den > b.den ? a.den : b.den;
  *out_a = tn_sym_muli(r->syms, a.num, den / a.den);
  *out_b = tn_sym_muli(r->syms, b.num, den / b.den);
  return true;
}
