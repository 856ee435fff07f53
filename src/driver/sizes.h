/* Sets of sizes as people say them: "1 or a multiple of 8". */
#ifndef TN_DRIVER_SIZES_H
#define TN_DRIVER_SIZES_H

#include "base/text.h"
#include "sym/sym.h"

typedef struct tn_size_words {
  const char *words; /* what the symbol must be */
  tn_sym condition;  /* true for the numbers of the set, and those below `from` do not matter */
} tn_size_words;

/* Numbers below `from` are left to other conditions. False when the set is too ragged for words. */
bool tn_sizes_describe(tn_symtab *t, tn_arena *arena, const tn_sym_set *set, int64_t from, tn_size_words *out);

#endif
