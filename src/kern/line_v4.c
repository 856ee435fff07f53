/* Loops over lines for x86-64-v4: AVX-512. */
#define LINE_LEVEL _v4
#include "kern/line_body.h"
