// kiln run's arguments: what a kernel parameter gets when the user says little or nothing about it.
#ifndef KILN_RUN_H
#define KILN_RUN_H

#include "cli/cli.h"

typedef enum fill_kind { FILL_AUTO, FILL_RANDOM, FILL_ZEROS, FILL_ONES, FILL_RANGE, FILL_CONST, FILL_FILE } fill_kind;

typedef struct run_arg {
    kiln_param_info info;
    const char *given; // the user's text after name=, or NULL
    const char *out;   // --out name=@FILE: the file, or NULL
    // scalars
    int64_t integer;
    double real;
    // pointers and structs
    fill_kind fill;
    double low, high; // FILL_RANDOM, FILL_CONST (low)
    size_t count;     // elements; 0 and !has_count: to be chosen
    bool has_count;
    const char *path;
    kiln_buffer *buffer;
    unsigned char *bytes; // host copy (or the struct)
} run_arg;

// Reads name=value into the argument; false: message printed.
bool run_parse_value(run_arg *arg);
// Chooses what was not given: sizes first, then counts.
bool run_choose(run_arg *args, size_t count, const uint32_t block[3]);
// Makes the host bytes of a pointer or struct argument (random data follows from the seed and the position alone).
bool run_make_data(run_arg *arg, size_t position, uint64_t seed);
void run_print_element(FILE *to, kiln_type type, const void *at, size_t size);
// 64-bit checksum of the values; every NaN counts the same, so equal results have equal checksums on every device.
uint64_t run_checksum(kiln_type type, size_t element_size, size_t count, const void *data);

#endif
