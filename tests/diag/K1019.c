// A kernel written the K&R way: one error at the list of names.
#include <kiln/kernel.h>

kernel block(64) void f(x, n)
    f32 *x;
    u32 n;
{
    x[0] = (f32)n;
}
