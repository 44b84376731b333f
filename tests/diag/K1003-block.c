// A block that is not closed before the next kernel: an error where the brace was expected; the second kernel is fine.
#include <kiln/kernel.h>

kernel void f(f32 *x, u32 n)
{
    if (n) {
        x[0] = 1;
}

kernel void g(f32 *x)
{
    x[0] = 2;
}
