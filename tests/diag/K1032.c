// A const without a type: an error with a fix-it that adds i32.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    const a = 1;
    x[0] = (f32)a;
}
