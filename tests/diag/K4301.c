// flags: --target sm_75
// A packed bf16 fma on a target that has none: an error that names the first target with it.
#include <kiln/kernel.h>

kernel block(32) void f(bf16x2 *x)
{
    u32 i = thread_x();
    x[i] = fma2(x[i], x[i], x[i]);
}
