// flags: --all
// K6208: With --all a false promise does not end the check.
#include <kiln/kernel.h>

//! run many grid=2 block=32 (u32[64]:iota)
kernel void many(u32 *x)
{
    u32 v = x[global_x()];
    assume(v < 60);
    assume(v != 3);
    x[global_x()] = v + 1;
}
