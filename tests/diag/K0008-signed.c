// A decimal number above the signed range: an error with a fix-it that adds 'u'.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u64 i = 18446744073709551615;
    x[i & 1] = 1;
}
