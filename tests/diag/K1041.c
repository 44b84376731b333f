// An array of zero elements: an error at the length.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 a[0];
    x[0] = 1;
}
