// A type called like a function: an error with the cast as a fix-it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    i32 a = i32(x[0]);
    x[1] = (f32)a;
}
