/* Einsum. */
#include "base/einsum.h"
#include "op/move.h"

static tn_status einsum_shape(tn_rule *r) {
  const tn_attr *const equation = tn_rule_attr(r, "equation");
  tn_sym size[TN_EINSUM_LABELS] = {NULL};
  tn_einsum e;
  int ranks[TN_EINSUM_MAX_IN];
  if (r->n_in > TN_EINSUM_MAX_IN)
    return tn_rule_fail(r, TN_LIMIT, "%d operands, the most is %d", r->n_in, TN_EINSUM_MAX_IN);
  for (int i = 0; i < r->n_in; i++) {
    if (!tn_rule_has_rank(r, i)) return TN_OK;
    ranks[i] = r->in[i]->rank;
  }
  const char *const wrong = tn_einsum_parse(equation->s, r->n_in, ranks, &e);
  if (wrong) return tn_rule_fail(r, TN_INVALID, "equation '%.*s': %s", (int)equation->s.len, equation->s.ptr, wrong);
  for (int i = 0; i < e.n_in; i++)
    for (int d = 0; d < e.in[i].rank; d++) {
      tn_sym *const s = &size[e.in[i].label[d]];
      if (*s)
        TN_TRY(tn_rule_bcast_dim(r, *s, r->in[i]->dims[d], d, s));
      else
        *s = r->in[i]->dims[d];
    }
  tn_sym *const dims = tn_rule_dims(r, e.out.rank);
  for (int d = 0; d < e.out.rank; d++) dims[d] = size[e.out.label[d]];
  tn_rule_set(r, 0, e.out.rank, dims);
  return TN_OK;
}

typedef struct einsum_sizes { /* by label, and the element strides of each operand */
  int64_t size[TN_EINSUM_LABELS];
  int64_t step[TN_EINSUM_MAX_IN][TN_EINSUM_LABELS];
} einsum_sizes;
static tn_status einsum_measure(tn_eval *e, const tn_einsum *q, einsum_sizes *s) {
  for (int l = 0; l < TN_EINSUM_LABELS; l++) s->size[l] = 1;
  for (int i = 0; i < q->n_in; i++)
    for (int d = 0; d < q->in[i].rank; d++) {
      int64_t *const size = &s->size[q->in[i].label[d]];
      const int64_t dim = e->in[i]->dims[d];
      if (*size != 1 && dim != 1 && dim != *size)
        return tn_eval_fail(e, TN_MISMATCH, "one letter stands for %lld and for %lld", (long long)*size,
                            (long long)dim);
      if (*size == 1) *size = dim;
    }
  for (int i = 0; i < q->n_in; i++) {
    int64_t strides[TN_MAX_RANK];
    tn_strides(q->in[i].rank, e->in[i]->dims, strides);
    for (int d = 0; d < q->in[i].rank; d++)
      if (e->in[i]->dims[d] != 1) s->step[i][q->in[i].label[d]] += strides[d];
  }
  return TN_OK;
}
static tn_status einsum_eval(tn_eval *e) {
  const tn_attr *const equation = tn_eval_attr(e, "equation");
  tn_einsum q;
  einsum_sizes *const s = TN_NEW(e->arena, einsum_sizes);
  int ranks[TN_EINSUM_MAX_IN];
  int64_t lost[TN_EINSUM_LABELS], dims[TN_MAX_RANK], at[TN_EINSUM_LABELS] = {0};
  tn_lit *y;
  if (e->n_in > TN_EINSUM_MAX_IN) return tn_eval_fail(e, TN_LIMIT, "too many operands");
  for (int i = 0; i < e->n_in; i++) ranks[i] = e->in[i]->rank;
  const char *const wrong = tn_einsum_parse(equation->s, e->n_in, ranks, &q);
  if (wrong) return tn_eval_fail(e, TN_INVALID, "%s", wrong);
  TN_TRY(einsum_measure(e, &q, s));
  for (int l = 0; l < TN_EINSUM_LABELS; l++) lost[l] = s->size[l];
  for (int d = 0; d < q.out.rank; d++) {
    dims[d] = s->size[q.out.label[d]];
    lost[q.out.label[d]] = 1;
  }
  TN_TRY(tn_eval_out(e, 0, e->in[0]->dtype, q.out.rank, dims, &y));
  bool nothing = false;
  for (int l = 0; l < TN_EINSUM_LABELS; l++) nothing = nothing || lost[l] == 0;
  const bool is_float = tn_dtype_is_float(y->dtype);
  for (int64_t o = 0; o < y->count && !nothing; o++) {
    int64_t rest = o, in[TN_EINSUM_LABELS] = {0};
    for (int d = q.out.rank - 1; d >= 0; d--) {
      at[q.out.label[d]] = rest % dims[d];
      rest /= dims[d];
    }
    double f = 0;
    uint64_t u = 0;
    do {
      double fp = 1;
      uint64_t up = 1;
      for (int i = 0; i < q.n_in; i++) {
        const int64_t from = tn_op_dot(TN_EINSUM_LABELS, at, s->step[i]) + tn_op_dot(TN_EINSUM_LABELS, in, s->step[i]);
        if (is_float)
          fp *= tn_lit_f64(e->in[i], from);
        else
          up *= (uint64_t)tn_lit_i64_at(e->in[i], from);
      }
      f += fp;
      u += up;
    } while (tn_op_next(TN_EINSUM_LABELS, lost, in));
    if (is_float)
      tn_store_f64(y->dtype, tn_lit_data(y), o, f);
    else
      tn_store_i64(y->dtype, tn_lit_data(y), o, (int64_t)u);
  }
  return TN_OK;
}
TN_OP(einsum){
    .name = "einsum",
    .in = {{"inputs", TN_SET_NUMBERS, "T", TN_PORT_VARIADIC}},
    .out = {{"output", TN_SET_NUMBERS, "T"}},
    .attrs = {{"equation", TN_ATTR_STR, .required = true}},
    .type = tn_type_as_input,
    .shape = einsum_shape,
    .eval = einsum_eval,
    .kernel = "einsum",
    .traits = TN_TRAIT_PURE,
    .accuracy = {TN_ACC_REL, 1e-5},
    .doc = "sums of products over the letters that are not in the result",
};

/* clang-format off */
TN_ONNX(ai, Einsum, 12, TN_LATEST, einsum, tn_import_same)
