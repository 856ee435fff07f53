/* The ledger (tn_graph.checks): what follows from the conditions in it. Only checks of the main graph over what the
 * inputs alone decide count as known: they are evaluated before anything runs. */
#ifndef TN_IR_LEDGER_H
#define TN_IR_LEDGER_H

#include "ir/graph.h"

/* Is the condition true wherever the checks so far hold? Conditions that need more than the inputs: false. */
bool tn_ledger_implies(tn_graph *g, tn_sym condition);
/* The same, also where it follows from each alternative of a check; for conditions that else become a check. */
bool tn_ledger_implies_by_cases(tn_graph *g, tn_sym condition);
/* e in a shorter spelling, also where the checks so far say that divisions in it leave no rest. */
tn_sym tn_ledger_shorter(tn_graph *g, tn_sym e);
/* Drops every check that the checks that stay imply. */
void tn_ledger_minimise(tn_graph *g);
/* Do the inputs alone decide e? */
bool tn_ledger_is_early(const tn_graph *g, tn_sym e);
/* What is true whenever a region runs, by the branches of If around it, as far as the inputs decide that; NULL: nothing
 * more than in the main graph. */
tn_sym tn_ledger_entry(const tn_graph *g, const tn_region *region);
/* The one symbol that e speaks of, where the inputs decide that; NULL where there are more or none. */
tn_sym tn_ledger_symbol(const tn_graph *g, tn_sym e);

#endif
