// A string without its closing quote: an error with a fix-it that closes it before the end of the statement.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    printf("hello\n);
}
