// Grid reductions of f64: see grid_reduce.h.
#define K_ONLY
#define K_ONLY_f64
#include "grid_reduce.h"
