/* Elementwise f32 loops for x86-64-v4: AVX-512. */
#define UNARY_LEVEL _v4
#include "kern/unary_body.h"
