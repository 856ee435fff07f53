/* Marks: what the user's model says of a node for the split. In ONNX they are the node's metadata_props
 * "tenon.force_dynamic", "tenon.stage", "tenon.group", "tenon.after" and "tenon.engine". */
#ifndef TN_IR_MARK_H
#define TN_IR_MARK_H

#include "base/ctx.h"
#include "base/text.h"

enum { TN_NO_STAGE = -1, TN_MAX_STAGE = 1000000 };

typedef struct tn_marks {
  bool force_dynamic;
  int32_t stage;            /* TN_NO_STAGE: none */
  const char *group;        /* must be in one part with others of the name; interned; NULL: none */
  const char *engine;       /* interned; NULL: any */
  const char *const *after; /* names of nodes that come first; interned */
  int n_after;
} tn_marks;
#define TN_NO_MARKS ((tn_marks){.stage = TN_NO_STAGE})

/* One mark: "stage", "3". INVALID when there is no such mark or its value is none. */
TN_MUST_CHECK tn_status tn_marks_read(tn_ctx *ctx, tn_loc loc, tn_str key, tn_str value, tn_marks *out);
void tn_marks_print(tn_text *out, const tn_marks *m); /* {stage = "3", after = "a,b"} */

#endif
