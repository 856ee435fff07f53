/* Random data for a model's inputs, at the sizes of a binding. */
#ifndef TN_DRIVER_DRAW_H
#define TN_DRIVER_DRAW_H

#include "driver/binding.h"

enum { TN_DRAW_FILLS = 4 }; /* kinds of contents */

typedef struct tn_draw {
  tn_binding *at;
  tn_arena *arena; /* of the data */
  uint64_t stream, n;
  int fill; /* 0: floats in [-1, 1), integers in [0, 10); 1: integers 0 or 1; 2: zeros; 3: ones */
} tn_draw;

/* Data for a parameter of the main region. Elements that stand for a symbol have its number; ranks that are not known
 * are drawn. LIMIT when it is too large, UNSUPPORTED for a map. */
TN_MUST_CHECK tn_status tn_draw_input(tn_draw *d, const tn_value *v, const tn_lit **out);

#endif
