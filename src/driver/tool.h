/* Shared by the files behind tenon_unstable.h. */
#ifndef TN_DRIVER_TOOL_H
#define TN_DRIVER_TOOL_H

#include "base/text.h"
#include "driver/compile.h"
#include "tenon/tenon_unstable.h"

/* *out := a copy of the text that outlives its arena. OOM when there is no memory. */
TN_MUST_CHECK tn_status tn_blob_copy(tn_str text, tn_blob *out);
/* Moves the text to the end of *out and empties it, for texts that are too long to stand in the arena as well. */
TN_MUST_CHECK tn_status tn_blob_take(tn_text *t, tn_blob *out);
/* Runs fn(c, arg) in the compilation's context, then reports. `status` is that of the work so far: when it is not OK,
 * fn is not run. Drops the compilation. */
tn_status tn_tool_finish(tn_compilation *c, tn_status status, tn_status (*fn)(tn_compilation *c, void *arg), void *arg,
                         tn_report **out_report);
enum { TN_TOOL_UNKNOWN = 1, TN_TOOL_MODEL = 2 }; /* `keeps_unknown` and `keeps_model` of tn_compile_request */
/* The same for the model at `path` as inference leaves it. */
tn_status tn_tool_inferred(const char *path, const tn_compile_options *o, int keep,
                           tn_status (*fn)(tn_compilation *c, void *arg), void *arg, tn_report **out_report);
/* A literal, no map, as a tensor of the public API: its data where they are aligned, else a copy. In api_unstable.c. */
void tn_lit_tensor(tn_arena *a, const tn_lit *lit, tn_tensor *out);

#endif
