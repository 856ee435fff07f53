/* Conversions for x86-64-v4: AVX-512. */
#define RECAST_LEVEL _v4
#include "kern/recast_body.h"
