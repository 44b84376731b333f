// The body of a host function is the host's: whatever it holds is skipped, and what follows is read.
#include <kiln/kernel.h>

host i32 twice(i32 x)
{
    struct odd { int a : 3; } *p = malloc(sizeof *p);
    asm("nop");
    return x * 2;
}

kernel block(64) void f(i32 *out)
{
    out[thread_x()] = twice(1);
}
