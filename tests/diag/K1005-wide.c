// Types of other compilers, alone and among the words of a type: one error each, none for the uses.
#include <kiln/kernel.h>

typedef unsigned __int128 u128;

struct pair {
    __int128 sum;
    u32 n;
};

static u32 low(u128 x)
{
    return (u32)x;
}

kernel block(64) void f(u32 *x)
{
    __int128 unsigned a = x[0];
    const signed _BitInt(12) b = 1;
    __uint128_t c = (unsigned __int128)x[1] * x[2];
    _Float16 d = 1;
    x[0] = (u32)(a >> 64) + (u32)b + (u32)c + (u32)d + low(a);
}
