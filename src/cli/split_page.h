/* Pictures of a split: Graphviz's language, SVG, and a page that needs no network. */
#ifndef TN_CLI_SPLIT_PAGE_H
#define TN_CLI_SPLIT_PAGE_H

#include "cli/cli.h"

typedef struct tn_split_pictures { /* files, or NULL */
  const char *dot, *svg, *html;
} tn_split_pictures;

/* SVG and page are laid out by Graphviz's program `dot`. Returns the exit status; messages are printed. */
int tn_split_draw(const char *model, const tn_tool_split_options *o, const tn_split_pictures *files);

#endif
