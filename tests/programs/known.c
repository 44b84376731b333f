// GNU's builtins of bits: of constants they are constants, and what a program calls like the
// builtins of Kiln behind them changes nothing.
#include <math.h>
#include <stdio.h>
enum {
    A = __builtin_popcount(255),
    B = __builtin_clz(1),
    C = __builtin_ctzll(1ull << 33),
    D = __builtin_bswap32(1) >> 24,
    E = __builtin_ffs(8),
    F = __builtin_clz(-1),
    G = __builtin_ctz(1u << 31),
    H = __builtin_parity(7),
    I = __builtin_ffsll(0),
    J = __builtin_clzll(1),
    K = __builtin_popcountl(-1),
    L = __builtin_ffs((int)(1u << 31)),
};
static int list[__builtin_popcount(7)] = {1, 2, 3};
_Static_assert(__builtin_bswap16(0x1234) == 0x3412, "bytes of two");
static const unsigned long swapped = __builtin_bswap64(0x0102030405060708ul);
static const double most = HUGE_VAL, least = -INFINITY;
static const struct {
    float narrow[3];
    double wide;
} specials = {{__builtin_inff(), -__builtin_huge_valf(), __builtin_nanf("")}, -__builtin_inf()};
static double changing[] = {__builtin_huge_val(), __builtin_nan(""), __builtin_inff()};

static int popcount(unsigned x)
{
    return __builtin_popcount(x) + 100;
}
static int leading_zeros(unsigned x)
{
    return x ? __builtin_clz(x) : -1;
}
static int trailing_zeros(unsigned x)
{
    return x ? __builtin_ctz(x) : -2;
}
static unsigned permute_bytes(unsigned x)
{
    return __builtin_bswap32(x) ^ __builtin_bswap16((unsigned short)x);
}
static double f64_from_bits(unsigned long x)
{
    return (double)x;
}
static float f32_from_bits(unsigned x)
{
    return (float)x;
}
#define unreachable() __builtin_unreachable()
static int digit(int x)
{
    switch (x) {
    case 1: return 2;
    case 2: return 3;
    }
    unreachable();
}
static void trap(int x)
{
    if (x)
        __builtin_trap();
}

#ifdef __clang__ // has no function for that
#    define leaves_five(a, b) ((a) + (b) < -16 || (a) + (b) > 15)
#else
static struct {
    int five : 5;
} of;
#    define leaves_five(a, b) __builtin_add_overflow_p(a, b, of.five)
#endif

int main(void)
{
    printf("%d %d %d %d %d %d %d %d %d %d %d %d\n", A, B, C, D, E, F, G, H, I, J, K, L);
    printf("%zu %lx %g %g %g %d\n", sizeof list, swapped, most, least, HUGE_VALF, isnan(NAN) != 0);
    printf("%g %g %d %g ", specials.narrow[0], specials.narrow[1], isnan(specials.narrow[2]) != 0,
           specials.wide);
    printf("%g %d %g\n", changing[0], isnan(changing[1]) != 0, changing[2]);
    switch (digit(2)) {
    case __builtin_popcount(7): puts("three"); break;
    default: puts("other");
    }
    printf("%d %d %d %x\n", popcount(7), leading_zeros(1), trailing_zeros(8), permute_bytes(1));
    printf("%g %g\n", f64_from_bits(4), (double)f32_from_bits(5));
    unsigned v = 7;
    int popcount = __builtin_popcount(v), ctz = __builtin_ctz(v + 1), abs = __builtin_abs(-3);
    printf("%d %d %d %d\n", popcount, ctz, abs, __builtin_popcountll(-1));
    signed char narrow = -1;
    printf("%d %d\n", __builtin_popcount(narrow), __builtin_clz((short)-5));
    printf("%d %d\n", _Generic(__builtin_bswap16(1), unsigned short : 1, default : 2),
           __builtin_constant_p(__builtin_popcount(3)));
    int n = 0;
    __builtin_prefetch((n++, &n));
    __builtin_prefetch((n++, &n), 1, 0);
    trap(n == 5);
    printf("%d\n", n);
    printf("%d %d\n", leaves_five(10, 6), leaves_five(10, 5));
    return 0;
}
