/* Register tiles for any CPU: vectors of 4 floats. */
#define TILE_LEVEL _v1
#define TILE_VL 4
#define TILE_MR 6
#define TILE_NV 2
#include "kern/gemm_tile.h"
