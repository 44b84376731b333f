// Reductions of i32: see reduce.h.
#define K_ONLY
#define K_ONLY_i32
#include "reduce.h"
