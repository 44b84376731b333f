// Reductions of i64: see reduce.h.
#define K_ONLY
#define K_ONLY_i64
#include "reduce.h"
