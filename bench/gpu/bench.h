// What the GPU benchmarks share: an open device beside the bare driver, clocks, medians, and a
// result file that says what was measured, of which source, where and when.
//
// A program makes one `report`, adds every kernel file it measures and every number, and ends with
// report_end: a table on standard output and FOLDER/NAME.json ($RESULTS, else bench/results). Ours
// and theirs alternate inside one process: only their ratio counts.
#ifndef KILN_BENCH_H
#define KILN_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kiln/kiln.h"
#include "dev/cuda/abi.h"

enum { BENCH_FILES = 32 };

typedef struct report_row {
    char key[96];
    double value;
} report_row;

typedef struct report {
    const char *name, *command;
    kiln *k;            // NULL: the program needs no GPU
    const cuda_api *cu; // beside it, in the same context
    cu_stream stream;   // the device's own
    char files[BENCH_FILES][256], hashes[BENCH_FILES][65];
    size_t file_count;
    report_row *rows;
    size_t row_count, row_limit;
    int failed; // wrong results
} report;

// Opens the first GPU when `needs_gpu`. False: nothing to measure here; a sentence was printed
// (exit with BENCH_SKIPPED).
bool report_start(report *r, const char *name, int argc, char **argv, bool needs_gpu);
enum { BENCH_SKIPPED = 77 };
// The text of a source file, whose hash goes into the report. Ends the program when there is none.
char *report_source(report *r, const char *path, size_t *len);
// One number; key is like "add.64M.GBps". Printed, too.
void report_number(report *r, double value, const char *key, ...)
    __attribute__((format(printf, 3, 4)));
// Takes the numbers of the result file that is already there, if it is of the same kernels, machine
// and driver; false: there is none. report_forget drops those whose key has that start.
bool report_keep(report *r);
void report_forget(report *r, const char *start);
// Says whether a result was right; wrong ones make the program fail.
void report_check(report *r, bool is_right, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
// Writes what there is so far, for programs that run long.
bool report_save(const report *r);
int report_end(report *r); // the exit status

// --- kernels
typedef struct bench_kernel {
    kiln_module *module;
    kiln_kernel *kernel;
} bench_kernel;
// Compiles `path`; `tune` and `define` may be NULL. Ends the program on an error: a benchmark of
// nothing is of no use.
bench_kernel bench_compile(report *r, const char *path, const char *name, const char *tune,
                           const char *define);
void bench_must(report *r, kiln_status status, const char *doing);
void bench_cu(report *r, cu_result result, const char *doing);

// --- time
double bench_now(void); // seconds
double bench_median(double *values, size_t count);
double bench_middle(double *values, size_t count); // mean of their middle half
// Milliseconds on the GPU for what `run(user, i)` puts into the stream, i = 0 … count - 1; all of
// them together.
double bench_gpu_ms(report *r, void (*run)(void *user, int i), void *user, int count);

// --- data: the same everywhere
void bench_random(float *to, size_t count, uint64_t seed); // about normal: mean 0, deviation 1
float *bench_floats(size_t count); // malloc that ends the program when it fails
kiln_buffer *bench_upload(report *r, const float *from, size_t count);

#endif
