// Scans of i64: see scan.h.
#define K_ONLY
#define K_ONLY_i64
#include "scan.h"
