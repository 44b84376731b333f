// Typographic quotes around a string: one error for the pair, with a fix-it that replaces both.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    printf(“hello\n”);
}
