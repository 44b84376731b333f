// An f32 literal below the smallest f32: a warning.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = x[1] / (x[2] + 1e-50f);
}
