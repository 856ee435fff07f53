/* Shared by the files of the pass `plan`: plan.c (buffers and their lives), plan_place.c (their places). */
#ifndef TN_PASS_PLAN_H
#define TN_PASS_PLAN_H

#include "pass/known.h"
#include "pass/pass.h"

/* Orders the buffers of each region by address and ties them, so that their offsets follow from their sizes. */
void tn_plan_place(tn_pass *pass, tn_graph *g, tn_plan *plan);

#endif
