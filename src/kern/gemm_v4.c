/* Register tiles for x86-64-v4: AVX-512, 12 x 32. */
#define TILE_LEVEL _v4
#define TILE_VL 16
#define TILE_MR 12
#define TILE_NV 2
#include "kern/gemm_tile.h"
