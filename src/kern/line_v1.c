/* Loops over lines for any CPU. */
#define LINE_LEVEL _v1
#include "kern/line_body.h"
