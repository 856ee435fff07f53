/* The parts of a split for Graphviz. */
#ifndef TN_DRIVER_SPLIT_PICTURE_H
#define TN_DRIVER_SPLIT_PICTURE_H

#include "base/text.h"
#include "ir/part.h"

/* A digraph: a cluster for each part, filled by kind and framed by engine, with a box for each operator; edges between
 * parts bear their bytes. Past 400 nodes a part is one box. Element ids: "part<region>_<number>", "node<id>". */
void tn_split_dot(const tn_partition_set *s, tn_text *out);
/* Operations of a part, as a formula; and the bytes of a value. */
tn_sym tn_split_part_flops(const tn_partition_set *s, const tn_part *part);
tn_sym tn_split_bytes(const tn_partition_set *s, const tn_value *v);

#endif
