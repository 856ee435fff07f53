/* Loops of quantisation for x86-64-v3: AVX2 and FMA. */
#define QUANT_LEVEL _v3
#include "kern/quant_body.h"
