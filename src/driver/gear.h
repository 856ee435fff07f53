/* Gears: the fixed shapes that a compilation is told of beforehand, in the option grammar of accelerator tool chains.
 *
 *   input shape   "x:-1,3,-1,-1;y:8;s:"   -1: any size; n: that size; a~b: a range (without gears); nothing: a scalar
 *   batch sizes   "1,4,8"                  one gear each: dim 0 of every input that has -1 there
 *   image sizes   "224,224;448,448"        height,width
 *   dims          "1,32;1,64"              a size for each -1, in the order of the input shape
 *
 * A separator may end a text; blanks may stand around a number. */
#ifndef TN_DRIVER_GEAR_H
#define TN_DRIVER_GEAR_H

#include "code/program.h"
#include "ir/graph.h"
#include "tenon/tenon.h"

enum { TN_GEARS_MIN = 2, TN_GEARS_MAX = 100 };

typedef struct tn_gear_range {
  int64_t min, max; /* max == INT64_MAX: no bound */
  bool is_free;     /* written as -1 */
} tn_gear_range;

typedef struct tn_gear_input {
  const char *name;
  int rank;
  const tn_gear_range *dims; /* rank of them */
} tn_gear_input;

typedef struct tn_gear_dim { /* a free dim and the number of a gear that it takes */
  uint32_t input, axis, column;
} tn_gear_dim;

typedef struct tn_gear_spec {
  const tn_gear_input *inputs;
  uint32_t n_inputs;
  const tn_gear_dim *dims;
  uint32_t n_dims, n_columns;
  const int64_t *sizes; /* n_gears rows of n_columns */
  uint32_t n_gears;     /* 0: there are none */
  tn_gear_miss miss;
} tn_gear_spec;

/* Reads the options into memory of the arena. INVALID with the option, the place and what was expected. */
TN_MUST_CHECK tn_status tn_gear_read(tn_ctx *ctx, const tn_compile_options *o, tn_gear_spec *out);
/* The input shape becomes that of one gear, and there are no gears any more. */
TN_MUST_CHECK tn_status tn_gear_choose(tn_ctx *ctx, tn_gear_spec *spec, int64_t gear);
/* Narrows the graph's inputs to the input shape; before any pass has run. Changes spec's input numbers to those of the
 * graph. */
TN_MUST_CHECK tn_status tn_gear_narrow(tn_graph *g, tn_gear_spec *spec);
/* Adds the gears to the program made of the graph. INVALID when a gear is no valid shape of it. */
TN_MUST_CHECK tn_status tn_gear_emit(tn_graph *g, const tn_gear_spec *spec, tn_program *p);

#endif
