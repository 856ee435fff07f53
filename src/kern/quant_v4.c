/* Loops of quantisation for x86-64-v4: AVX-512. */
#define QUANT_LEVEL _v4
#include "kern/quant_body.h"
