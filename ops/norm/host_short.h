// Norms of many short rows that follow one another in memory: short.c.
#ifndef KILN_HOST_SHORT_H
#define KILN_HOST_SHORT_H

#include "kiln/ops.h"

#include "ops/rows.h"

// Launches it where the rows are such ones; false: they are not, and nothing has happened.
bool norm_short(kiln *k, op_rows_call *c, const kiln_norm_desc *d, kiln_status *status);

#endif
