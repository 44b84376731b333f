// Grid scans of u32: see grid_scan.h.
#define K_ONLY
#define K_ONLY_u32
#include "grid_scan.h"
