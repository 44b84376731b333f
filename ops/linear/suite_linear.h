// What the files of the suite of linear layers share.
#ifndef KILN_SUITE_LINEAR_H
#define KILN_SUITE_LINEAR_H

#include "ops/suite.h"

// The nearest number of f16 (is_f16), or x.
float suite_linear_rounded(float x, bool is_f16);
// Layouts against vectors, refusals, three layers against one at a time.
int suite_linear_more(kiln *k, int *passed);
// x in registers: repeats, rows that do not depend on each other, refusals.
int suite_linear_registers(kiln *k, int *passed);

#endif
