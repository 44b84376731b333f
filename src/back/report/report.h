// What a kernel takes of a multiprocessor: registers, spills, shared memory, occupancy and what
// limits it; and how many instructions of which kind it has.
#ifndef KILN_REPORT_H
#define KILN_REPORT_H

#include "back/report/occupancy.h"

typedef enum report_source {
    REPORT_ESTIMATE, // from the IR: no assembler for the target is here
    REPORT_PTXAS,
    REPORT_DRIVER
} report_source;

typedef struct report_row {
    const char *kernel;
    report_source source;
    uint32_t registers;
    uint32_t spills;       // registers that went to memory
    uint64_t local_bytes;  // of a thread
    uint64_t shared_bytes; // static
    uint32_t threads;      // of a block; 0: decided at launch
    uint32_t most_threads; // what the launch may decide; 0: anything
} report_row;
typedef vec(report_row) report_rows;

// One line, without the newline: "row_sum  sm_90a  31 regs  0 spills  2.0 KiB shared  occupancy 75
// % (limited by registers)".
void report_line(const report_row *row, const target *t, text *out);
// A row for every kernel (or for `only`), by ptxas on the code `ptx` when it is found, else by a
// guess. *note (may be NULL) gets a sentence when ptxas is there but did not work.
void report_collect(const ir_module *m, const ir_func *only, const target *t, str ptx, arena *a,
                    report_rows *rows, const char **note);
// Counts of instructions by kind, one line for each kind that occurs.
void report_stats(const ir_func *f, arena *a, text *out);

#endif
