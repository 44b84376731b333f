// An enum without constants that a kernel uses: an error at the braces.
#include <kiln/kernel.h>

enum mode {};

kernel block(64) void f(f32 *x, u32 n)
{
    enum mode m = n;
    x[0] = (f32)m;
}
