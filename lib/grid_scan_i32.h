// Grid scans of i32: see grid_scan.h.
#define K_ONLY
#define K_ONLY_i32
#include "grid_scan.h"
