// What the benchmarks of the kiln program share: the time of a call of the library.
#ifndef KILN_CLI_BENCH_H
#define KILN_CLI_BENCH_H

#include "kiln/ops.h"

typedef struct bench_times {
    double median; // seconds of a call
    double spread; // half of the middle half of the rounds, as a part of the median
} bench_times;

// Calls `call` once to compile and once to warm up, then in rounds of about 20 ms; `round` counts
// the calls, so that it can take other data each time.
typedef kiln_status bench_call(void *user, int round);
kiln_status bench_measure(kiln *k, bench_call *call, void *user, bench_times *out);

// Types of a product's operands and result by the name that --type has: "tf32"; false: none.
bool bench_read_type(const char *name, kiln_type *type, kiln_type *out, bool *is_tf32);
// Small numbers of the type, the same each time.
void bench_fill_random(kiln_type type, uint8_t *to, size_t bytes);

// cuBLAS, opened at run time (bench_theirs.c): NULL, or why it cannot be used; a product of a
// description as bench.c has it.
const char *bench_theirs_open(kiln *k);
kiln_status bench_theirs_matmul(const kiln_matmul_desc *d);

int bench_kernel(int argc, char **argv);               // bench_kernel.c
int bench_op(const char *name, int argc, char **argv); // bench_op.c: a row of ops.def
int bench_list(int argc, char **argv);                 // its cases, of all ops
bool bench_is_op(const char *name);

#endif
