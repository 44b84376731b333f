// The conversions of printf that the formatter makes itself (rt/channel/format.c) beside libc's.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "rt/channel/format.h"
#include "tests/test.h"

static uint64_t seed = 88172645463325252u;
static uint64_t draw(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

// Bits of any kind, integers, halves that are ties, small and large ones.
static double draw_double(void)
{
    uint64_t bits = draw();
    double v;
    switch (draw() % 6) {
    case 0: memcpy(&v, &bits, sizeof v); return v;
    case 1: return (double)(int64_t)(bits % 2000001) - 1e6;
    case 2: return ((double)(int64_t)(bits % 2000001) - 1e6) / 8192;
    case 3: return (double)(int64_t)bits / 1e12;
    case 4: return (double)(bits % 1000) / 1000 + 0.0005;
    default: return ldexp((double)(bits >> 11), -(int)(bits % 80));
    }
}

#if defined(__GNUC__)
#    pragma GCC diagnostic ignored "-Wformat-nonliteral"
#endif
static void same(const char *format, uint32_t type, uint64_t bits)
{
    char want[512];
    double v;
    print_out got = {0};
    print_args args = {.types = &type, .bits = &bits, .count = 1};
    memcpy(&v, &bits, sizeof v);
    if (type == IR_F64)
        snprintf(want, sizeof want, format, v);
    else if (type == IR_I64)
        snprintf(want, sizeof want, format, (long)bits);
    else
        snprintf(want, sizeof want, format, (int)(uint32_t)bits);
    print_format(&got, str_of(format), &args);
    if (got.len != strlen(want) || memcmp(got.at, want, got.len))
        fail_msg("%s of %llx: '%.*s', libc has '%s'", format, (unsigned long long)bits,
                 (int)got.len, got.at, want);
    print_free(&got);
}

TEST(printed_numbers_are_those_of_libc)
{
    static const char *const fixed[] = {"<%f>",   "<%.0f>", "<%.1f>", "<%.3f>", "<%.6f>",
                                        "<%.9f>", "<%5f>",  "<%+f>",  "<%.12f>"};
    static const char *const words[] = {"<%d>", "<%i>", "<%u>", "<%x>", "<%5d>", "<%.3d>"};
    static const char *const longs[] = {"<%ld>", "<%lu>", "<%lx>"};
    const double infinite = (double)INFINITY;
    const double special[] = {0.0,    -0.0,        0.5,      1.5,       2.5,
                              -0.5,   0.0000005,   1e300,    1e18,      9e18,
                              1e-320, (double)NAN, infinite, -infinite, 0.9999995};
    uint64_t bits;
    for (size_t f = 0; f < COUNT(fixed); f++)
        for (int n = 0; n < 4000 + (int)COUNT(special); n++) {
            double v = n < 4000 ? draw_double() : special[n - 4000];
            memcpy(&bits, &v, sizeof bits);
            same(fixed[f], IR_F64, bits);
        }
    for (int n = 0; n < 8000; n++) {
        bits = draw() >> draw() % 64;
        same(words[(size_t)n % COUNT(words)], IR_I32, (uint32_t)bits);
        same(longs[(size_t)n % COUNT(longs)], IR_I64, bits);
        same("<%c>", IR_I32, 33 + bits % 90);
    }
    same("<%d>", IR_I32, 0x80000000u);
    same("<%ld>", IR_I64, UINT64_C(1) << 63);
}
