// Scans of u64: see scan.h.
#define K_ONLY
#define K_ONLY_u64
#include "scan.h"
