// printf of a kernel as text: the same formatter for every device.
#ifndef KILN_CHANNEL_FORMAT_H
#define KILN_CHANNEL_FORMAT_H

#include "ir/ir.h"

typedef struct print_out { // grows; the caller frees it with print_free
    char *at;
    size_t len, cap;
    bool is_full; // no memory
} print_out;

// The arguments of one call by one thread, after C's promotions: i32, i64, f64 (f32 is taken too),
// pointers; %s takes a string's number.
typedef struct print_args {
    const uint32_t *types; // ir_type of each
    const uint64_t *bits;
    uint32_t count, next;
    const str *strings;
    uint32_t string_count;
} print_args;

void print_format(print_out *out, str format, print_args *args);
void print_free(print_out *out);

#endif
