// flags: --unset=0
// K6203: A sum is added to an output that nobody cleared.
#include <kiln/kernel.h>

//! run sum grid=1 block=32 (f32[32], f32[32]:iota)
kernel void sum(f32 *total, const f32 *x)
{
    total[thread_x()] += x[thread_x()];
}
