// Grid reductions of i64: see grid_reduce.h.
#define K_ONLY
#define K_ONLY_i64
#include "grid_reduce.h"
