/* Conversions for x86-64-v3: AVX2 and FMA. */
#define RECAST_LEVEL _v3
#include "kern/recast_body.h"
