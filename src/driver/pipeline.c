/* The compiler, top to bottom. */
#include "driver/pipeline.h"

#define GRAPH TN_HAS_GRAPH
#define SYMBOLS TN_HAS_SYMBOLS
#define FACTS TN_HAS_FACTS
#define PLACES TN_HAS_PLACES
#define ORDER TN_HAS_ORDER
#define BUFFERS TN_HAS_BUFFERS
#define PROGRAM TN_HAS_PROGRAM
#define LIVE TN_HAS_LIVE
#define NODES TN_HAS_NODES

/* clang-format off */
const tn_pipeline_row tn_pipeline[] = {
  /* name        pass                needs                             gives     breaks                     optional */
  {"flatten",    tn_pass_flatten,    GRAPH,                            NODES,    0,                         false},
  {"symbolize",  tn_pass_symbolize,  GRAPH,                            SYMBOLS,  0,                         false},
  {"infer",      tn_pass_infer,      GRAPH | SYMBOLS,                  FACTS,    LIVE,                      false},
  {"prune",      tn_pass_prune,      GRAPH | SYMBOLS | FACTS,          LIVE,     PLACES | ORDER | BUFFERS,  false},
  {"fold",       tn_pass_fold,       GRAPH | SYMBOLS | FACTS | LIVE,   0,        PLACES | ORDER | BUFFERS,  true},
  {"simplify",   tn_pass_simplify,   GRAPH | SYMBOLS | FACTS | LIVE,   0,        PLACES | ORDER | BUFFERS,  true},
  {"cse",        tn_pass_cse,        GRAPH | SYMBOLS | FACTS | LIVE,   0,        PLACES | ORDER | BUFFERS,  true},
  {"dce",        tn_pass_dce,        GRAPH | SYMBOLS | FACTS | LIVE,   0,        PLACES | ORDER | BUFFERS,  true},
  {"place",      tn_pass_place,      NODES | SYMBOLS | FACTS | LIVE,   PLACES,   ORDER | BUFFERS,           false},
  {"schedule",   tn_pass_schedule,   PLACES,                           ORDER,    BUFFERS,                   false},
  {"plan",       tn_pass_plan,       PLACES | ORDER,                   BUFFERS,  0,                         false},
  {"emit",       tn_pass_emit,       PLACES | ORDER | BUFFERS,         PROGRAM,  0,                         false},
  {NULL,         NULL,               0,                                0,        0,                         false},
};
/* clang-format on */

tn_status tn_pipeline_check(const tn_pipeline_row *rows, uint32_t have, tn_error *err) {
  for (; rows->name; rows++) {
    const uint32_t missing = rows->needs & ~have;
    if (missing) return tn_error_set(err, TN_INTERNAL, "pass %s needs what is not there: %#x", rows->name, missing);
    have = (have & ~rows->breaks) | rows->gives;
  }
  return TN_OK;
}

const tn_pipeline_row *tn_pipeline_find(tn_str name) {
  for (const tn_pipeline_row *row = tn_pipeline; row->name; row++)
    if (tn_str_is(name, row->name)) return row;
  return NULL;
}
