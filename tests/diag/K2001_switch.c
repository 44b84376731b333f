// A switch over what is not declared: nothing is said about its cases, nor about what stands behind it.
#include <kiln/kernel.h>

kernel block(32) void k(u32 *x)
{
    u32 y = 1;
    switch (nowhere) {
    case 1: y = 2; break;
    case 1: y = 3; break;
    default: return;
    }
    x[thread_x()] = y;
}
