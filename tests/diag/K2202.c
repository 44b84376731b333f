// an unsigned number below zero
#include <kiln/kernel.h>

kernel void run(u32 n, i32 *out)
{
    for (u32 i = n; i >= 0; i--)
        out[i] = 0;
}
