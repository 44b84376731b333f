// Grid scans of f64: see grid_scan.h.
#define K_ONLY
#define K_ONLY_f64
#include "grid_scan.h"
