// What sums.c and sums_interp.c share.
#ifndef KILN_CPU_SUMS_H
#define KILN_CPU_SUMS_H

#include "ir/ir.h"

#define SUM_START 0xcbf29ce484222325u
uint64_t sum_bytes(uint64_t sum, const void *bytes, size_t len);
// Of the decoded kernels; `watch`: INTERP_WATCH_….
uint64_t interp_sum(const ir_module *m, unsigned watch);

#endif
