// flags: --unset=0
// K6203: The kernel sets the even elements and reads all.
#include <kiln/kernel.h>

//! run even grid=1 block=32 (f32[64], f32[32])
kernel void even(f32 *work, f32 *out)
{
    work[2 * thread_x()] = 1;
    barrier();
    out[thread_x()] = work[thread_x()];
}
