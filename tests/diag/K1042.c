// An enum constant above 32 bits that a kernel uses: an error at its value.
#include <kiln/kernel.h>

enum { BIG = 0x100000000 };

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = (f32)BIG;
}
