// Operators on vectors: the message names the function that does it.
#include <kiln/kernel.h>

kernel block(64) void f(f32x4 *x, f32 s)
{
    x[0] = x[1] + x[2];
    x[1] = s * x[2];
    x[2] = -x[0];
    x[3] -= x[1];
    x[4] = x[0] / s;
    x[5] = vec_add(vec_scale(x[1], s), vec_neg(x[2]));
}
