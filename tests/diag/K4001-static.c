// flags: --target sm_80
// More static shared memory than a CUDA target takes, though a block may have it when it is dynamic.
#include <kiln/kernel.h>

kernel block(64) void run(f32 *x)
{
    shared f32 big[12500];
    big[thread_x()] = x[0];
    barrier();
    x[1] = big[63 - thread_x()];
}
