// Reductions of f64: see reduce.h.
#define K_ONLY
#define K_ONLY_f64
#include "reduce.h"
