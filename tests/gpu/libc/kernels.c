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

kernel block(32) void floats(const read_case *cases, read_result *results, u32 count)
{
    u32 i = global_x();
    if (i < count)
        read_floats(cases + i, results + i);
}

kernel block(32) void integers(const read_case *cases, read_result *results, u32 count)
{
    u32 i = global_x();
    if (i < count)
        read_integers(cases + i, results + i);
}

kernel block(32) void scans(const scan_case *cases, scan_result *results, u32 count)
{
    u32 i = global_x();
    if (i < count)
        scan_mixed(cases + i, results + i);
}

kernel block(32) void wide_scans(const scan_case *cases, scan_result *results, u32 count)
{
    u32 i = global_x();
    if (i < count)
        scan_wide(cases + i, results + i);
}
