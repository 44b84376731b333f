// Grid scans of i64: see grid_scan.h.
#define K_ONLY
#define K_ONLY_i64
#include "grid_scan.h"
