// A goto to an address, as GNU C has it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    if (n == 0)
        goto *x;
}
