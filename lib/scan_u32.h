// Scans of u32: see scan.h.
#define K_ONLY
#define K_ONLY_u32
#include "scan.h"
