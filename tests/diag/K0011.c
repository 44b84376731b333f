// An unknown escape sequence: an error with a fix-it that doubles the backslash.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    printf("a\qb\n");
}
