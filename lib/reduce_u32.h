// Reductions of u32: see reduce.h.
#define K_ONLY
#define K_ONLY_u32
#include "reduce.h"
