// Hexadecimal without digits: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u32 i = 0x;
    x[i] = 1;
}
