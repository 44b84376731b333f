// 16-bit floats have no operators: each compound assignment is an error with the f32 that it means.
#include <kiln/kernel.h>

kernel block(64) void f(f16 *x, bf16 *y)
{
    x[0] += y[0];
    x[1] -= 2.0f;
    x[2] *= x[3];
    y[0] /= 3.0f;
    y[1] %= 2;
    x[4]++;
    --y[2];
}
