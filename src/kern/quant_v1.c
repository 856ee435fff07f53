/* Loops of quantisation for any CPU. */
#define QUANT_LEVEL _v1
#include "kern/quant_body.h"
