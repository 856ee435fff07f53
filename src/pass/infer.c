/* infer: the type, shape and (where small) content of every value.
 *
 *   needs symbols   gives facts   breaks -
 *
 *   %y = matmul(%a, %b) : ?   ->   %y = matmul(%a, %b) : f32[N,8]
 *
 * Types that the model declares for results are claims: see ir/infer.h. */
#include "ir/infer.h"
#include "ir/ledger.h"

#include "pass/pass.h"

tn_status tn_pass_infer(tn_pass *p, tn_graph *g) {
  (void)p;
  TN_TRY(tn_infer_region(g, g->main));
  tn_ledger_minimise(g);
  return TN_OK;
}
