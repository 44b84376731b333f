// C++'s auto.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    auto i = global_x();
    if (i < n)
        x[i] = 1;
}
