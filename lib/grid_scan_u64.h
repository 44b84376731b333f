// Grid scans of u64: see grid_scan.h.
#define K_ONLY
#define K_ONLY_u64
#include "grid_scan.h"
