// A struct without members that a kernel uses: an error at the braces.
#include <kiln/kernel.h>

struct nothing {};

kernel block(64) void f(f32 *x, u32 n)
{
    struct nothing v[2];
    x[0] = (f32)sizeof v;
}
