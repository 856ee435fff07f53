/* Register tiles for x86-64-v3: AVX2 and FMA, 6 x 16. */
#define TILE_LEVEL _v3
#define TILE_VL 8
#define TILE_MR 6
#define TILE_NV 2
#include "kern/gemm_tile.h"
