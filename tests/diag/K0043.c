// A remainder by a macro that is not defined: an error; an unreached division is fine.
#if 0 && 1 / 0
#endif
#if 256 % TILE == 0
#endif
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
