/* What the tools of a split have in common: its table, its files, its pictures, its parts in memory. */
#ifndef TN_DRIVER_SPLIT_H
#define TN_DRIVER_SPLIT_H

#include "driver/tool.h"
#include "ir/part.h"

/* split_tool.c. A compilation of the model at `path` that stops after inference, with the model to be written back; and
 * the plan that options ask for, over its graph. */
tn_compile_request tn_split_request(const char *path, const tn_tool_split_options *o);
TN_MUST_CHECK tn_status tn_split_by_options(tn_compilation *c, const tn_tool_split_options *o, tn_partition_set **out);
/* `before`, then z as a JSON string. */
void tn_split_json_text(tn_text *t, const char *before, const char *z);
/* `, "kind": ..., "engine": ..., "stage": ...` of a part. */
void tn_split_json_part(tn_text *t, const tn_part *part);

/* split_picture.c. A digraph for Graphviz: a cluster for each part, filled by kind and framed by engine, with a box for
 * each operator; edges between parts bear their bytes. Past 400 nodes a part is one box. Element ids:
 * "part<region>_<number>", "node<id>". */
void tn_split_dot(const tn_partition_set *s, tn_text *out);
/* Operations of a part, as a formula; and the bytes of a value, NULL when they are not known. */
tn_sym tn_split_part_flops(const tn_partition_set *s, const tn_part *part);
tn_sym tn_split_bytes(const tn_partition_set *s, const tn_value *v);

#endif
