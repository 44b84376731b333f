// Grid scans of f32: see grid_scan.h.
#define K_ONLY
#define K_ONLY_f32
#include "grid_scan.h"
