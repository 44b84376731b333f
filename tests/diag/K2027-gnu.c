// Wrong calls of GNU's builtins of bits are told under GNU's names.
#include <kiln/kernel.h>

struct pair {
    i32 a, b;
};

kernel block(64) void f(u32 *x, struct pair v)
{
    x[0] = (u32)__builtin_popcount();
    x[1] = (u32)__builtin_popcount(1, 2);
    x[2] = (u32)__builtin_clz("x");
    x[3] = (u32)__builtin_ctz(v);
    x[4] = __builtin_bswap32(x);
    x[5] = (u32)__builtin_popcount(1.5) + (u32)__builtin_ffs((i64)x[6]);
    __builtin_prefetch();
    __builtin_prefetch(x, 0, 3, 1);
    __builtin_prefetch(v);
    x[6] = (u32)__builtin_inf(1);
}
