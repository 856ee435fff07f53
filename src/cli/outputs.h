/* Results of a run: lines, JSON, files. */
#ifndef TN_CLI_OUTPUTS_H
#define TN_CLI_OUTPUTS_H

#include "cli/cli.h"
#include "cli/json.h"

/* One line: name, type, smallest, mean and largest element, and the elements when they are few. Items of a sequence
 * follow on lines of their own. */
void tn_output_print(const char *name, size_t width, const tn_tensor *t);
void tn_output_json(tn_json *j, const char *name, const tn_tensor *t);

typedef struct tn_output_files {
  const char *dir;
  const char **names; /* taken, without ".npy" */
  size_t n;
} tn_output_files;

/* Makes the folder when it is not there. Returns the exit status; messages are printed. */
int tn_output_open(tn_output_files *f, const char *dir);
/* DIR/NAME.npy with every byte of the name that is unsafe in a file name as '_', and _1, _2... when that is taken;
 * items of a sequence as NAME_0.npy. */
int tn_output_save(tn_output_files *f, const char *name, const tn_tensor *t);

#endif
