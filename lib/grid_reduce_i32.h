// Grid reductions of i32: see grid_reduce.h.
#define K_ONLY
#define K_ONLY_i32
#include "grid_reduce.h"
