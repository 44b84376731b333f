// The kernels of tests/gpu/libc.c: every thread makes the calls of one case.
#include "calls.h"

#include <kiln/kernel.h>

kernel block(32) void mixed(const print_case *cases, print_result *results, u32 count)
{
    u32 i = global_x();
    if (i < count)
        print_mixed(cases + i, results + i);
}

kernel block(32) void stars(const print_case *cases, print_result *results, u32 count)
{
    u32 i = global_x();
    if (i < count)
        print_stars(cases + i, results + i);
}
