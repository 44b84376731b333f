// Functions of C's library that a kernel does not have: the note says what to use.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 *p = malloc(4);
    free(p);
    x[0] = (f32)random();
    if (n > 3)
        exit(1);
    puts(x);
    u32 bytes[4];
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, x, 4);
    x[1] = (f32)bytes[0];
}
