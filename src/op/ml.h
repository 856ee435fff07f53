/* What the importers of classifiers and regressors of ai.onnx.ml share. Only for op/. */
#ifndef TN_OP_ML_H
#define TN_OP_ML_H

#include "op/ms.h"

typedef enum tn_ml_post_kind { /* in the order of TreeEnsemble-5's numbers */
                               TN_ML_NONE,
                               TN_ML_SOFTMAX,
                               TN_ML_LOGISTIC,
                               TN_ML_SOFTMAX_ZERO,
                               TN_ML_PROBIT
} tn_ml_post_kind;

/* Constants of attributes; no elements when `a` is NULL. */
tn_value *tn_ml_floats(tn_import *im, const tn_attr *a);
tn_value *tn_ml_strings(tn_import *im, const tn_attr *a);
/* The one of `of_ints` and classlabels_strings that is there, as a vector of n >= 1 labels. */
TN_MUST_CHECK tn_status tn_ml_labels(tn_import *im, const char *of_ints, tn_value **out, int64_t *out_n);

/* The attribute post_transform. */
TN_MUST_CHECK tn_status tn_ml_post_attr(tn_import *im, tn_ml_post_kind *out);
/* It applied to the scores of a row. */
tn_value *tn_ml_post(tn_import *im, tn_ml_post_kind post, tn_value *scores);
/* To the one score of two classes: that of the other class is 1 - s (is_share) or -s. Like ONNX Runtime, no softmax is
 * taken of the two; PROBIT leaves one column. */
tn_value *tn_ml_post_pair(tn_import *im, tn_ml_post_kind post, bool is_share, tn_value *s);

tn_value *tn_ml_best(tn_import *im, tn_value *scores);          /* the first largest of each row */
tn_value *tn_ml_above(tn_import *im, tn_value *s, double than); /* of one column: 1 where s > than, else 0 */

#endif
