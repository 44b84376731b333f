// Grid reductions of u32: see grid_reduce.h.
#define K_ONLY
#define K_ONLY_u32
#include "grid_reduce.h"
