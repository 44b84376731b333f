// What kiln run and kiln check share: their options, and what a kernel parameter gets when the user
// says little or nothing about it.
#ifndef KILN_RUN_H
#define KILN_RUN_H

#include "cli/cli.h"

typedef enum fill_kind {
    FILL_AUTO,
    FILL_RANDOM,
    FILL_ZEROS,
    FILL_ONES,
    FILL_RANGE,
    FILL_CONST,
    FILL_FILE,
    FILL_UNSET
} fill_kind;

typedef struct run_arg {
    kiln_param_info info;
    const char *given; // the user's text after name=, or NULL
    const char *out;   // --out name=@FILE: the file, or NULL
    // scalars
    int64_t integer;
    double real;
    // pointers and structs
    fill_kind fill;
    bool is_filled;   // the user said with what
    double low, high; // FILL_RANDOM, FILL_CONST (low)
    size_t count;     // elements; 0 and !has_count: to be chosen
    bool has_count;
    const char *path;
    kiln_buffer *buffer;
    unsigned char *bytes; // host copy (or the struct)
} run_arg;

typedef struct run {
    const char *verb; // "run" or "check"
    cli_compile compile;
    const char *path, *kernel_name, *device;
    uint32_t grid[3], block[3];
    size_t shared_bytes;
    uint64_t seed;
    int repeat;
    // check
    bool is_check, all, nan, json, outputs_unset;
    uint64_t steps;
    // debug
    uint32_t stop_thread[3], stop_block[3];
    const char *sanitize;
    const char *values[128], *outs[128];
    int value_count, out_count;
    kiln *k;
    kiln_module *module;
    kiln_kernel *kernel;
    run_arg *args;
    size_t arg_count;
} run;

// --- prepare.c: each returns 0, or an exit code after a message.
int run_parse(run *r, int argc, char **argv);
// Opens the device, compiles the file, finds the kernel, makes its arguments and chooses the grid.
int run_prepare(run *r);
int run_args(const run *r, kiln_arg *args, size_t room); // room: how many fit
void run_catch_interrupt(run *r);                        // Ctrl-C cancels the launch
void run_clean_up(run *r);

// Reads name=value into the argument; false: message printed.
bool run_parse_value(run_arg *arg);
// Chooses what was not given: sizes first, then counts.
bool run_choose(run_arg *args, size_t count, const uint32_t block[3]);
// Makes the host bytes of a pointer or struct argument (random data follows from the seed and the
// position alone).
bool run_make_data(run_arg *arg, size_t position, uint64_t seed);
void run_print_element(FILE *to, kiln_type type, const void *at, size_t size);
// 64-bit checksum of the values; every NaN counts the same, so equal results have equal checksums
// on every device.
uint64_t run_checksum(kiln_type type, size_t element_size, size_t count, const void *data);

#endif
