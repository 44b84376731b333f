// Softmax of rows that lie side by side: across.c.
#ifndef KILN_HOST_ACROSS_H
#define KILN_HOST_ACROSS_H

#include "ops/rows.h"

// Launches it where the rows are such ones; false: they are not, and nothing has happened.
bool softmax_across(kiln *k, op_rows_call *c, bool is_log, kiln_stream *stream,
                    kiln_status *status);

#endif
