/* Conversions for any CPU. */
#define RECAST_LEVEL _v1
#include "kern/recast_body.h"
