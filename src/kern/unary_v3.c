/* Elementwise f32 loops for x86-64-v3: AVX2 and FMA. */
#define UNARY_LEVEL _v3
#include "kern/unary_body.h"
