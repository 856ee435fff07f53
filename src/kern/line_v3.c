/* Loops over lines for x86-64-v3: AVX2 and FMA. */
#define LINE_LEVEL _v3
#include "kern/line_body.h"
