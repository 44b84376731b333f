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
    static char want[20000];
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

TEST(wide_conversions_are_those_of_libc)
{
    static const char *const words[] = {"<%5000d>", "<%-5000d>", "<%.9000x>", "<%+08191i>",
                                        "<%127d>",  "<%128d>",   "<%126c>",   "<%9000c>"};
    static const char *const reals[] = {"<%.5000f>", "<%9000.4500e>", "<%-4097g>", "<%4096f>",
                                        "<%04097f>"};
    uint64_t bits;
    double v = -1234.5678;
    memcpy(&bits, &v, sizeof bits);
    for (size_t n = 0; n < COUNT(words); n++)
        same(words[n], IR_I32, 77);
    for (size_t n = 0; n < COUNT(reals); n++)
        same(reals[n], IR_F64, bits);
}

TEST(printed_texts_have_any_length_and_end_at_a_zero)
{
    static char long_one[10000];
    memset(long_one, 'x', sizeof long_one - 1);
    const str strings[] = {str_of(long_one), {"a\0b", 3}};
    const uint32_t types[] = {IR_I32, IR_I32};
    const uint64_t bits[] = {0, 1};
    print_out got = {0};
    print_args args = {
        .types = types, .bits = bits, .count = 2, .strings = strings, .string_count = 2};
    print_format(&got, (str){"%s|%5s|\0%d", 11}, &args);
    assert_int_equal(got.len, sizeof long_one - 1 + 7);
    assert_memory_equal(got.at, long_one, sizeof long_one - 1);
    assert_memory_equal(got.at + sizeof long_one - 1, "|    a|", 7);
    print_free(&got);
}
