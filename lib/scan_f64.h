// Scans of f64: see scan.h.
#define K_ONLY
#define K_ONLY_f64
#include "scan.h"
