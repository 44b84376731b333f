// An if with two statements and no braces before else: an error at the else only.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    if (n)
        x[0] = 1;
        x[1] = 1;
    else
        x[2] = 1;
}
