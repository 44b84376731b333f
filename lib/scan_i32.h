// Scans of i32: see scan.h.
#define K_ONLY
#define K_ONLY_i32
#include "scan.h"
