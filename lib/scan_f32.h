// Scans of f32: see scan.h.
#define K_ONLY
#define K_ONLY_f32
#include "scan.h"
