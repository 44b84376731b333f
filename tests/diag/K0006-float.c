// A hexadecimal floating number without exponent, and one with two points: two errors.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 0x1.8f;
    x[1] = 1.2.3f;
}
