// A goto whose label it cannot reach: there is none, it is inside another block.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    if (n == 0)
        goto end;
    if (n == 1)
        goto inside;
    if (n == 2) {
        x[0] = 2;
    inside:
        x[0] = 1;
    }
}
