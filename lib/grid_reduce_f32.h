// Grid reductions of f32: see grid_reduce.h.
#define K_ONLY
#define K_ONLY_f32
#include "grid_reduce.h"
