// An op that only tests/extend has.
#ifndef KILN_OPS_TWICE_H
#define KILN_OPS_TWICE_H

#include "kiln/kiln.h"

// out = 2 * x; dense views of f32 with the same sizes.
KILN_API kiln_status kiln_twice(kiln *k, kiln_view x, kiln_view out);

#endif
