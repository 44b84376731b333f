// Reductions of u64: see reduce.h.
#define K_ONLY
#define K_ONLY_u64
#include "reduce.h"
