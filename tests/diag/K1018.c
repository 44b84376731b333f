// An asm statement: an error, and the next statement is parsed.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    asm("nop");
    x[0] = 1;
}
