// Reductions of f32: see reduce.h.
#define K_ONLY
#define K_ONLY_f32
#include "reduce.h"
