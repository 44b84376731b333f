// The digit 8 in an octal number: an error at the digit, with a fix-it that makes the number decimal.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u32 i = 089;
    x[i] = 1;
}
