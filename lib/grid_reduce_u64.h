// Grid reductions of u64: see grid_reduce.h.
#define K_ONLY
#define K_ONLY_u64
#include "grid_reduce.h"
