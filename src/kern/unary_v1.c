/* Elementwise f32 loops for any CPU. */
#define UNARY_LEVEL _v1
#include "kern/unary_body.h"
