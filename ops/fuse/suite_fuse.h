// The suite of fused expressions in two files: cases (suite.c), random expressions
// (suite_random.c).
#ifndef KILN_SUITE_FUSE_H
#define KILN_SUITE_FUSE_H

#include "kiln/ops_fuse.h"
#include "ops/suite.h"

int suite_fuse_more(kiln *k, int *passed);

#endif
