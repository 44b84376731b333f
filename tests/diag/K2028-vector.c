// Helpers for vectors with arguments they do not take.
#include <kiln/kernel.h>

kernel block(64) void f(f32x4 *x, f32x3 *y, u32x2 *z, f32 s)
{
    x[0] = vec_add(x[0], y[0]);
    s = vec_length(s);
    z[0] = vec_neg(z[1]);
    x[1] = vec_scale(x[1], x[2]);
    i32 d = vec_dot(x[0], x[1]);
    x[2] = vec_cross(x[0], x[1]);
}
