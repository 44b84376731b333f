// The text behind a pointer: <stdio.h> has a printf that prints it; its address is not meant.
#include <kiln/kernel.h>

kernel block(64) void f(const char *name, const i8 *bytes, u32 n)
{
    printf("%s %u\n", name, n);
    printf("%s\n", bytes);
}
