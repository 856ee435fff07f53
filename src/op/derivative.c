/* What each operator hands on when it is differentiated backwards. A rule gets the derivative d by its result and says
 * that by the operands; where an operand was broadcast, d is summed back. Operators that are not listed are refused by
 * name. */
#include <math.h>

#include "op/gradient.h"

typedef tn_status (*derive_rule)(tn_gradient *g, const tn_node *n, tn_value *d);

/* --- pieces --- */

static tn_value *derive_mul(tn_gradient *g, tn_value *a, tn_value *b) { return tn_im2(g->im, "mul", a, b); }
static tn_value *derive_times(tn_gradient *g, double k, tn_value *a) {
  return derive_mul(g, a, tn_im_like(g->im, k, a));
}
static tn_value *derive_plus(tn_gradient *g, double k, tn_value *a) {
  return tn_im2(g->im, "add", a, tn_im_like(g->im, k, a));
}
static tn_value *derive_inverse(tn_gradient *g, tn_value *a) { return tn_im1(g->im, "reciprocal", a); }
static tn_value *derive_one_minus(tn_gradient *g, tn_value *a) { return derive_plus(g, 1, tn_im1(g->im, "neg", a)); }
/* d where the condition holds, else 0. */
static tn_value *derive_where(tn_gradient *g, tn_value *condition, tn_value *d) {
  return tn_im3(g->im, "where", condition, d, tn_im_like(g->im, 0, d));
}
static tn_value *derive_compare(tn_gradient *g, const char *op, tn_value *a, double k) {
  return tn_im2(g->im, op, a, tn_im_like(g->im, k, a));
}
static bool derive_needs(const tn_gradient *g, const tn_node *n, int i) {
  return i < n->n_in && tn_gradient_needs(g, n->in[i]);
}
/* The derivative by operand i, of the shape of the result or already of the operand's. */
static void derive_give(tn_gradient *g, const tn_node *n, int i, tn_value *d) {
  tn_gradient_add(g, n->in[i], tn_im2(g->im, "sum_like", d, n->in[i]));
}
static void derive_give_exact(tn_gradient *g, const tn_node *n, int i, tn_value *d) { tn_gradient_add(g, n->in[i], d); }
static tn_value *derive_turned(tn_gradient *g, tn_value *a) { /* the last two axes exchanged, whatever the rank */
  return tn_im_einsum(g->im, "...ij->...ji", a);
}
static double derive_float(const tn_node *n, const char *attr) {
  const tn_attr *const a = tn_op_attr(n, attr);
  return a ? a->f : 0;
}
static int64_t derive_int(const tn_node *n, const char *attr) {
  const tn_attr *const a = tn_op_attr(n, attr);
  return a ? a->i : 0;
}
static tn_status derive_refuse(tn_gradient *g, const tn_node *n, const char *what) {
  return tn_import_fail(g->im, TN_UNSUPPORTED, "the derivative goes through node '%s' (%s)%s", n->loc.name, n->op->name,
                        what);
}

/* --- results that are steps: their derivative is 0 --- */

static tn_status derive_stop(tn_gradient *g, const tn_node *n, tn_value *d) {
  (void)g, (void)n, (void)d;
  return TN_OK;
}

/* --- arithmetic --- */

static tn_status derive_add(tn_gradient *g, const tn_node *n, tn_value *d) { /* also of many operands */
  for (int i = 0; i < n->n_in; i++)
    if (derive_needs(g, n, i)) derive_give(g, n, i, d);
  return TN_OK;
}
static tn_status derive_sub(tn_gradient *g, const tn_node *n, tn_value *d) {
  if (derive_needs(g, n, 0)) derive_give(g, n, 0, d);
  if (derive_needs(g, n, 1)) derive_give(g, n, 1, tn_im1(g->im, "neg", d));
  return TN_OK;
}
static tn_status derive_product(tn_gradient *g, const tn_node *n, tn_value *d) {
  for (int i = 0; i < 2; i++)
    if (derive_needs(g, n, i)) derive_give(g, n, i, derive_mul(g, d, n->in[1 - i]));
  return TN_OK;
}
static tn_status derive_div(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_value *const part = tn_im2(g->im, "div", d, n->in[1]);
  if (derive_needs(g, n, 0)) derive_give(g, n, 0, part);
  if (derive_needs(g, n, 1)) derive_give(g, n, 1, tn_im1(g->im, "neg", derive_mul(g, part, n->out[0])));
  return TN_OK;
}
static tn_status derive_pow(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_import *const im = g->im;
  tn_value *const x = n->in[0], *const p = n->in[1];
  if (derive_needs(g, n, 0)) {
    tn_value *const lower = tn_im2(im, "pow", x, derive_plus(g, -1, p));
    derive_give(g, n, 0, derive_mul(g, d, derive_mul(g, tn_im2(im, "cast_like", p, x), lower)));
  }
  if (!derive_needs(g, n, 1)) return TN_OK;
  tn_value *const slope = derive_mul(g, derive_mul(g, d, n->out[0]), tn_im1(im, "log", x));
  tn_value *const is_zero = derive_compare(g, "equal", x, 0); /* 0^p stays 0 */
  derive_give(g, n, 1, tn_im2(im, "cast_like", tn_im3(im, "where", is_zero, tn_im_like(im, 0, d), slope), p));
  return TN_OK;
}
static tn_status derive_mean(tn_gradient *g, const tn_node *n, tn_value *d) {
  return derive_add(g, n, derive_times(g, 1.0 / n->n_in, d));
}
/* Operands that share the extreme share its derivative. */
static tn_status derive_extreme(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_import *const im = g->im;
  tn_value **const at = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, n->n_in + 1);
  tn_value *count = NULL;
  for (int i = 0; i < n->n_in; i++) {
    at[i] = tn_im2(im, "cast_like", tn_im2(im, "equal", n->in[i], n->out[0]), d);
    count = count ? tn_im2(im, "add", count, at[i]) : at[i];
  }
  for (int i = 0; i < n->n_in; i++)
    if (derive_needs(g, n, i)) derive_give(g, n, i, derive_mul(g, d, tn_im2(im, "div", at[i], count)));
  return TN_OK;
}
static tn_status derive_select(tn_gradient *g, const tn_node *n, tn_value *d) {
  if (derive_needs(g, n, 1)) derive_give(g, n, 1, derive_where(g, n->in[0], d));
  if (derive_needs(g, n, 2)) derive_give(g, n, 2, derive_where(g, tn_im1(g->im, "not", n->in[0]), d));
  return TN_OK;
}
static tn_status derive_clip(tn_gradient *g, const tn_node *n, tn_value *d) {
  if (derive_needs(g, n, 1) || derive_needs(g, n, 2)) return derive_refuse(g, n, " to one of its bounds");
  derive_give_exact(g, n, 0, derive_where(g, tn_im2(g->im, "equal", n->in[0], n->out[0]), d));
  return TN_OK;
}

/* --- functions of one operand: rows of the slope, by the operand x and the result y --- */

#define DERIVE_UNARY(id, slope)                                                 \
  static tn_status derive_##id(tn_gradient *g, const tn_node *n, tn_value *d) { \
    tn_value *const x = n->in[0], *const y = n->out[0];                         \
    (void)x, (void)y;                                                           \
    derive_give_exact(g, n, 0, derive_mul(g, d, slope));                        \
    return TN_OK;                                                               \
  }
static tn_value *derive_square(tn_gradient *g, tn_value *a) { return derive_mul(g, a, a); }
static tn_value *derive_unit(tn_gradient *g, double sign, tn_value *x) { /* 1 + sign * x^2 */
  return derive_plus(g, 1, derive_times(g, sign, derive_square(g, x)));
}
static tn_value *derive_bell(tn_gradient *g, double k, tn_value *x) { /* e^(-k x^2) */
  return tn_im1(g->im, "exp", derive_times(g, -k, derive_square(g, x)));
}
/* clang-format off */
DERIVE_UNARY(abs, tn_im1(g->im, "sign", x))
DERIVE_UNARY(exp, y)
DERIVE_UNARY(log, derive_inverse(g, x))
DERIVE_UNARY(sqrt, derive_times(g, 0.5, derive_inverse(g, y)))
DERIVE_UNARY(reciprocal, tn_im1(g->im, "neg", derive_square(g, y)))
DERIVE_UNARY(sin, tn_im1(g->im, "cos", x))
DERIVE_UNARY(cos, tn_im1(g->im, "neg", tn_im1(g->im, "sin", x)))
DERIVE_UNARY(tan, derive_unit(g, 1, y))
DERIVE_UNARY(asin, derive_inverse(g, tn_im1(g->im, "sqrt", derive_unit(g, -1, x))))
DERIVE_UNARY(acos, tn_im1(g->im, "neg", derive_inverse(g, tn_im1(g->im, "sqrt", derive_unit(g, -1, x)))))
DERIVE_UNARY(atan, derive_inverse(g, derive_unit(g, 1, x)))
DERIVE_UNARY(sinh, tn_im1(g->im, "cosh", x))
DERIVE_UNARY(cosh, tn_im1(g->im, "sinh", x))
DERIVE_UNARY(tanh, derive_unit(g, -1, y))
DERIVE_UNARY(asinh, derive_inverse(g, tn_im1(g->im, "sqrt", derive_unit(g, 1, x))))
DERIVE_UNARY(acosh, derive_inverse(g, tn_im1(g->im, "sqrt", derive_plus(g, -1, derive_square(g, x)))))
DERIVE_UNARY(atanh, derive_inverse(g, derive_unit(g, -1, x)))
DERIVE_UNARY(sigmoid, derive_mul(g, y, derive_one_minus(g, y)))
DERIVE_UNARY(softplus, tn_im1(g->im, "sigmoid", x))
DERIVE_UNARY(softsign, derive_inverse(g, derive_square(g, derive_plus(g, 1, tn_im1(g->im, "abs", x)))))
DERIVE_UNARY(erf, derive_times(g, M_2_SQRTPI, derive_bell(g, 1, x)))
/* clang-format on */

static tn_status derive_neg(tn_gradient *g, const tn_node *n, tn_value *d) {
  derive_give_exact(g, n, 0, tn_im1(g->im, "neg", d));
  return TN_OK;
}
static tn_status derive_relu(tn_gradient *g, const tn_node *n, tn_value *d) {
  derive_give_exact(g, n, 0, derive_where(g, derive_compare(g, "greater", n->in[0], 0), d));
  return TN_OK;
}
static tn_status derive_leaky_relu(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_value *const below = derive_times(g, derive_float(n, "alpha"), d);
  derive_give_exact(g, n, 0, tn_im3(g->im, "where", derive_compare(g, "less", n->in[0], 0), below, d));
  return TN_OK;
}
static tn_status derive_elu(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_value *const below = derive_mul(g, d, derive_plus(g, derive_float(n, "alpha"), n->out[0]));
  derive_give_exact(g, n, 0, tn_im3(g->im, "where", derive_compare(g, "less", n->in[0], 0), below, d));
  return TN_OK;
}
static tn_status derive_gelu(tn_gradient *g, const tn_node *n, tn_value *d) {
  const tn_attr *const form = tn_op_attr(n, "approximate");
  tn_value *const x = n->in[0];
  if (form && tn_str_eq(form->s, tn_str_of("tanh"))) return derive_refuse(g, n, " in its tanh form");
  tn_value *const share = derive_times(g, 0.5, derive_plus(g, 1, tn_im1(g->im, "erf", derive_times(g, M_SQRT1_2, x))));
  tn_value *const bell = derive_times(g, 0.5 * M_2_SQRTPI * M_SQRT1_2, derive_bell(g, 0.5, x));
  derive_give_exact(g, n, 0, derive_mul(g, d, tn_im2(g->im, "add", share, derive_mul(g, x, bell))));
  return TN_OK;
}

/* --- the same elements in another form --- */

static tn_status derive_identity(tn_gradient *g, const tn_node *n, tn_value *d) {
  derive_give_exact(g, n, 0, d);
  return TN_OK;
}
static tn_status derive_cast(tn_gradient *g, const tn_node *n, tn_value *d) {
  derive_give_exact(g, n, 0, tn_im2(g->im, "cast_like", d, n->in[0]));
  return TN_OK;
}
static tn_status derive_reshape(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_value *const in[2] = {d, tn_im1(g->im, "shape", n->in[0])};
  tn_node *const node = tn_import_node(g->im, "reshape", in, 2, 1);
  tn_import_set_int(node, "allowzero", 1);
  derive_give_exact(g, n, 0, node->out[0]);
  return TN_OK;
}
static tn_status derive_transpose(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_node *const node = tn_import_node(g->im, "transpose", &d, 1, 1);
  const tn_attr *const perm = tn_op_attr(n, "perm");
  if (perm) {
    int64_t *const back = TN_NEW_ARRAY(&g->im->ctx->arena, int64_t, perm->n + 1);
    for (int64_t i = 0; i < perm->n; i++) {
      if (perm->ints[i] < 0 || perm->ints[i] >= perm->n)
        return tn_import_fail(g->im, TN_INVALID, "attribute 'perm' of node '%s' is no permutation", n->loc.name);
      back[perm->ints[i]] = i;
    }
    tn_edit_set_attr(node, "perm", (tn_attr){.kind = TN_ATTR_INTS, .n = perm->n, .ints = back});
  }
  derive_give_exact(g, n, 0, node->out[0]);
  return TN_OK;
}
/* Of one operand whose axes are only exchanged. */
static tn_status derive_einsum(tn_gradient *g, const tn_node *n, tn_value *d) {
  const tn_attr *const equation = tn_op_attr(n, "equation");
  const char *const z = equation ? tn_ctx_name(g->im->ctx, equation->s) : "";
  const char *const arrow = strstr(z, "->");
  const size_t half = arrow ? (size_t)(arrow - z) : 0;
  if (n->n_in != 1 || !arrow || strlen(arrow + 2) != half)
    return derive_refuse(g, n, ", which does more than transpose");
  const char *const back = tn_arena_printf(&g->im->ctx->arena, "%s->%.*s", arrow + 2, (int)half, z);
  derive_give_exact(g, n, 0, tn_im_einsum(g->im, back, d));
  return TN_OK;
}
static tn_status derive_expand(tn_gradient *g, const tn_node *n, tn_value *d) {
  if (derive_needs(g, n, 0)) derive_give(g, n, 0, d);
  return TN_OK;
}
static tn_status derive_sum_like(tn_gradient *g, const tn_node *n, tn_value *d) {
  if (derive_needs(g, n, 0)) derive_give_exact(g, n, 0, tn_im2(g->im, "expand", d, tn_im1(g->im, "shape", n->in[0])));
  return TN_OK;
}
static tn_status derive_concat(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_import *const im = g->im;
  const int64_t axis = derive_int(n, "axis");
  tn_value **const sizes = TN_NEW_ARRAY(&im->ctx->arena, tn_value *, n->n_in);
  for (int i = 0; i < n->n_in; i++) sizes[i] = tn_im2(im, "gather", tn_im1(im, "shape", n->in[i]), tn_im_int(im, axis));
  tn_node *const all = tn_import_node(im, "concat", sizes, n->n_in, 1);
  tn_import_set_int(all, "axis", 0);
  tn_value *const in[2] = {d, all->out[0]};
  tn_node *const split = tn_import_node(im, "split", in, 2, n->n_in);
  tn_import_set_int(split, "axis", axis);
  for (int i = 0; i < n->n_in; i++)
    if (derive_needs(g, n, i)) derive_give_exact(g, n, i, split->out[i]);
  return TN_OK;
}
static tn_value *derive_zeros(tn_gradient *g, tn_value *like) {
  return tn_im2(g->im, "expand", tn_im_like(g->im, 0, like), tn_im1(g->im, "shape", like));
}
static tn_status derive_split(tn_gradient *g, const tn_node *n, tn_value *d) {
  (void)d; /* there are several */
  tn_value **const parts = TN_NEW_ARRAY(&g->im->ctx->arena, tn_value *, n->n_out);
  for (int i = 0; i < n->n_out; i++) {
    if (!n->out[i]) return derive_refuse(g, n, ", some of whose results are absent");
    parts[i] = tn_gradient_of(g, n->out[i]);
    if (!parts[i]) parts[i] = derive_zeros(g, n->out[i]);
  }
  tn_node *const all = tn_import_node(g->im, "concat", parts, n->n_out, 1);
  tn_import_set_int(all, "axis", derive_int(n, "axis"));
  derive_give_exact(g, n, 0, all->out[0]);
  return TN_OK;
}
static tn_status derive_gather(tn_gradient *g, const tn_node *n, tn_value *d) {
  if (derive_int(n, "axis") != 0) return derive_refuse(g, n, " along another axis than 0");
  tn_value *const rows = tn_im2(g->im, "unsqueeze", tn_im_cast(g->im, n->in[1], TN_I64), tn_im_int(g->im, -1));
  tn_value *const in[3] = {derive_zeros(g, n->in[0]), rows, d};
  tn_node *const node = tn_import_node(g->im, "scatter_nd", in, 3, 1);
  tn_import_set_str(node, "reduction", "add");
  derive_give_exact(g, n, 0, node->out[0]);
  return TN_OK;
}

/* --- sums over axes --- */

/* d with the axes back that a reduction took, as large as the operand. */
static tn_value *derive_spread(tn_gradient *g, const tn_node *n, tn_value *d) {
  const bool keep = !tn_op_attr(n, "keepdims") || derive_int(n, "keepdims");
  tn_value *const axes = n->n_in > 1 ? n->in[1] : NULL;
  if (!keep && axes) d = tn_im2(g->im, "unsqueeze", d, axes);
  return tn_im2(g->im, "expand", d, tn_im1(g->im, "shape", n->in[0]));
}
static tn_status derive_reduce_sum(tn_gradient *g, const tn_node *n, tn_value *d) {
  derive_give_exact(g, n, 0, derive_spread(g, n, d));
  return TN_OK;
}
static tn_status derive_reduce_mean(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_import *const im = g->im;
  tn_value *const share = tn_im2(im, "div", tn_im2(im, "cast_like", tn_im1(im, "size", n->out[0]), d),
                                 tn_im2(im, "cast_like", tn_im1(im, "size", n->in[0]), d));
  derive_give_exact(g, n, 0, derive_spread(g, n, derive_mul(g, d, share)));
  return TN_OK;
}
static tn_value *derive_sum_axis(tn_gradient *g, const tn_node *n, tn_value *a) {
  return tn_im2(g->im, "reduce_sum", a, tn_im_int(g->im, derive_int(n, "axis")));
}
static tn_status derive_softmax(tn_gradient *g, const tn_node *n, tn_value *d) {
  if (derive_int(n, "flatten")) return derive_refuse(g, n, " in its form before opset 13");
  tn_value *const sum = derive_sum_axis(g, n, derive_mul(g, d, n->out[0]));
  derive_give_exact(g, n, 0, derive_mul(g, n->out[0], tn_im2(g->im, "sub", d, sum)));
  return TN_OK;
}
static tn_status derive_log_softmax(tn_gradient *g, const tn_node *n, tn_value *d) {
  if (derive_int(n, "flatten")) return derive_refuse(g, n, " in its form before opset 13");
  tn_value *const part = derive_mul(g, tn_im1(g->im, "exp", n->out[0]), derive_sum_axis(g, n, d));
  derive_give_exact(g, n, 0, tn_im2(g->im, "sub", d, part));
  return TN_OK;
}

/* --- products --- */

static tn_status derive_matmul(tn_gradient *g, const tn_node *n, tn_value *d) {
  for (int i = 0; i < 2; i++)
    if (tn_type_has_rank(&n->in[i]->type) && n->in[i]->type.rank < 2)
      return derive_refuse(g, n, ", one of whose operands is a vector");
  if (derive_needs(g, n, 0)) derive_give(g, n, 0, tn_im2(g->im, "matmul", d, derive_turned(g, n->in[1])));
  if (derive_needs(g, n, 1)) derive_give(g, n, 1, tn_im2(g->im, "matmul", derive_turned(g, n->in[0]), d));
  return TN_OK;
}
static tn_value *derive_gemm_of(tn_gradient *g, tn_value *a, tn_value *b, bool ta, bool tb, double alpha) {
  tn_value *const in[2] = {a, b};
  tn_node *const node = tn_import_node(g->im, "gemm", in, 2, 1);
  tn_import_set_int(node, "transA", ta);
  tn_import_set_int(node, "transB", tb);
  tn_import_set_float(node, "alpha", alpha);
  return node->out[0];
}
static tn_status derive_gemm(tn_gradient *g, const tn_node *n, tn_value *d) {
  const bool ta = derive_int(n, "transA") != 0, tb = derive_int(n, "transB") != 0;
  const double alpha = derive_float(n, "alpha");
  tn_value *const a = n->in[0], *const b = n->in[1];
  if (derive_needs(g, n, 0))
    derive_give_exact(g, n, 0,
                      ta ? derive_gemm_of(g, b, d, tb, true, alpha) : derive_gemm_of(g, d, b, false, !tb, alpha));
  if (derive_needs(g, n, 1))
    derive_give_exact(g, n, 1,
                      tb ? derive_gemm_of(g, d, a, true, ta, alpha) : derive_gemm_of(g, a, d, !ta, false, alpha));
  if (derive_needs(g, n, 2)) derive_give(g, n, 2, derive_times(g, derive_float(n, "beta"), d));
  return TN_OK;
}

/* Convolution with explicit padding. */
static void derive_window(tn_node *node, const tn_node *from, const char *strides, const char *dilations) {
  if (tn_op_attr(from, strides)) tn_edit_set_attr(node, "strides", *tn_op_attr(from, strides));
  if (tn_op_attr(from, dilations)) tn_edit_set_attr(node, "dilations", *tn_op_attr(from, dilations));
}
/* What comes before the first position is cut off as `pads` says; behind the last one as much as there is too much, and
 * 0 fills the positions that no window reached. */
static tn_value *derive_conv_input(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_import *const im = g->im;
  tn_value *const in[2] = {d, n->in[1]};
  tn_node *const back = tn_import_node(im, "conv_transpose", in, 2, 1);
  derive_window(back, n, "strides", "dilations");
  tn_edit_set_attr(back, "group", (tn_attr){.kind = TN_ATTR_INT, .i = derive_int(n, "group")});
  const tn_attr *const pad = tn_op_attr(n, "pads");
  if (pad) {
    int64_t *const before = TN_NEW_ARRAY(&im->ctx->arena, int64_t, pad->n + 1);
    for (int64_t i = 0; i < pad->n / 2; i++) before[i] = pad->ints[i];
    tn_edit_set_attr(back, "pads", (tn_attr){.kind = TN_ATTR_INTS, .n = pad->n, .ints = before});
  }
  tn_value *const have = tn_im1(im, "shape", back->out[0]);
  tn_value *const lack = tn_im2(im, "sub", tn_im1(im, "shape", n->in[0]), have);
  tn_value *const sides[2] = {tn_im2(im, "sub", lack, lack), lack};
  tn_node *const pads = tn_import_node(im, "concat", sides, 2, 1);
  tn_import_set_int(pads, "axis", 0);
  return tn_im2(im, "pad", back->out[0], pads->out[0]);
}
static tn_value *derive_conv_weights(tn_gradient *g, const tn_node *n, tn_value *d) {
  tn_import *const im = g->im;
  tn_value *const in[2] = {tn_im_einsum(im, "ab...->ba...", n->in[0]), tn_im_einsum(im, "ab...->ba...", d)};
  tn_node *const node = tn_import_node(im, "conv", in, 2, 1);
  derive_window(node, n, "dilations", "strides");
  if (tn_op_attr(n, "pads")) tn_edit_set_attr(node, "pads", *tn_op_attr(n, "pads"));
  tn_value *const ends = tn_im1(im, "shape", n->in[1]);
  return tn_im3(im, "slice", tn_im_einsum(im, "ab...->ba...", node->out[0]), tn_im2(im, "sub", ends, ends), ends);
}
static tn_value *derive_conv_bias(tn_gradient *g, tn_value *d) {
  static const int64_t planes[3] = {0, 0, -1}, lost[2] = {0, 2};
  tn_value *const in[2] = {tn_im2(g->im, "reshape", d, tn_import_const_i64(g->im, planes, 3)),
                           tn_import_const_i64(g->im, lost, 2)};
  tn_node *const node = tn_import_node(g->im, "reduce_sum", in, 2, 1);
  tn_import_set_int(node, "keepdims", 0);
  return node->out[0];
}
static tn_status derive_conv(tn_gradient *g, const tn_node *n, tn_value *d) {
  const tn_attr *const pad = tn_op_attr(n, "auto_pad");
  if (pad && !tn_str_eq(pad->s, tn_str_of("NOTSET")) && !tn_str_eq(pad->s, tn_str_of("VALID")))
    return derive_refuse(g, n, " with 'auto_pad'");
  if (derive_needs(g, n, 0)) derive_give_exact(g, n, 0, derive_conv_input(g, n, d));
  if (derive_needs(g, n, 1) && derive_int(n, "group") > 1) return derive_refuse(g, n, " to weights in groups");
  if (derive_needs(g, n, 1)) derive_give_exact(g, n, 1, derive_conv_weights(g, n, d));
  if (derive_needs(g, n, 2)) derive_give_exact(g, n, 2, derive_conv_bias(g, d));
  return TN_OK;
}

static const struct {
  const char *op;
  derive_rule rule;
} derive_rules[] = {
    {"abs", derive_abs},
    {"acos", derive_acos},
    {"acosh", derive_acosh},
    {"add", derive_add},
    {"argmax", derive_stop},
    {"argmin", derive_stop},
    {"asin", derive_asin},
    {"asinh", derive_asinh},
    {"atan", derive_atan},
    {"atanh", derive_atanh},
    {"cast", derive_cast},
    {"cast_like", derive_cast},
    {"ceil", derive_stop},
    {"clip", derive_clip},
    {"concat", derive_concat},
    {"conv", derive_conv},
    {"cos", derive_cos},
    {"cosh", derive_cosh},
    {"div", derive_div},
    {"einsum", derive_einsum},
    {"elu", derive_elu},
    {"equal", derive_stop},
    {"erf", derive_erf},
    {"exp", derive_exp},
    {"expand", derive_expand},
    {"flatten", derive_reshape},
    {"floor", derive_stop},
    {"gather", derive_gather},
    {"gelu", derive_gelu},
    {"gemm", derive_gemm},
    {"global_average_pool", derive_reduce_mean},
    {"greater", derive_stop},
    {"greater_or_equal", derive_stop},
    {"identity", derive_identity},
    {"leaky_relu", derive_leaky_relu},
    {"less", derive_stop},
    {"less_or_equal", derive_stop},
    {"log", derive_log},
    {"log_softmax", derive_log_softmax},
    {"matmul", derive_matmul},
    {"max", derive_extreme},
    {"mean", derive_mean},
    {"min", derive_extreme},
    {"mul", derive_product},
    {"neg", derive_neg},
    {"not", derive_stop},
    {"pow", derive_pow},
    {"reciprocal", derive_reciprocal},
    {"reduce_mean", derive_reduce_mean},
    {"reduce_sum", derive_reduce_sum},
    {"relu", derive_relu},
    {"reshape", derive_reshape},
    {"round", derive_stop},
    {"shape", derive_stop},
    {"sigmoid", derive_sigmoid},
    {"sign", derive_stop},
    {"sin", derive_sin},
    {"sinh", derive_sinh},
    {"size", derive_stop},
    {"softmax", derive_softmax},
    {"softplus", derive_softplus},
    {"softsign", derive_softsign},
    {"split", derive_split},
    {"sqrt", derive_sqrt},
    {"squeeze", derive_reshape},
    {"sub", derive_sub},
    {"sum", derive_add},
    {"sum_like", derive_sum_like},
    {"tan", derive_tan},
    {"tanh", derive_tanh},
    {"transpose", derive_transpose},
    {"unsqueeze", derive_reshape},
    {"where", derive_select},
};

tn_status tn_derive(tn_gradient *g, const tn_node *n) {
  for (size_t i = 0; i < TN_COUNT(derive_rules); i++)
    if (strcmp(derive_rules[i].op, n->op->name) == 0) return derive_rules[i].rule(g, n, tn_gradient_of(g, n->out[0]));
  return derive_refuse(g, n, ", for which it is not known");
}
