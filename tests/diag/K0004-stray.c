// A character that means nothing in C: an error with a fix-it that removes it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1; @
}
