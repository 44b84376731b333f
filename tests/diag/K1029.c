// A long double variable: an error with f64 as a fix-it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    long double a = 1;
    x[0] = (f32)a;
}
