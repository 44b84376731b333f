// flags: --target sm_120a
// Two arrays that are together more than a block of the target has; each kernel counts what it uses, so 'small' is fine.
#include <kiln/kernel.h>

shared f32 first[7500];

kernel block(64) void large(f32 *x)
{
    shared f32 second[3][7500];
    first[thread_x()] = x[0];
    second[2][thread_x()] = x[1];
    barrier();
    x[2] = first[63 - thread_x()] + second[2][63 - thread_x()];
}

kernel block(64) void small(f32 *x)
{
    first[thread_x()] = x[0];
    barrier();
    x[1] = first[63 - thread_x()];
}
