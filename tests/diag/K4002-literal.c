// Compound literals lie in each thread, those outside of functions beside its variables.
#include <kiln/kernel.h>

static const u8 *const pointed[] = {(const u8[100]){1}, (const u8[1 << 20]){2}};

kernel block(32) void outside(u8 *x)
{
    x[0] = pointed[x[1] & 1][x[2]];
}

kernel block(32) void inside(u8 *x)
{
    u8 *own = (u8[(1 << 20) + 1]){3};
    x[0] = (u8)(own[x[1]] + sizeof((u8[1 << 21]){4}));
}
