// What the checker and the lowering of matrix builtins share.
#ifndef KILN_FRONT_MATRIX_H
#define KILN_FRONT_MATRIX_H

#include "front/front.h"
#include "ir/nv.h"

// The shape that a checked call of a product (mma_…, wgmma_…) means.
nv_shape matrix_shape(front *f, const ast_expr *e);

#endif
