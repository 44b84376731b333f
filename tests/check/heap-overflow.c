// flags: --all
// K6217: one element too many, in a block whose chunk has room for it; and one before the first.
#include <stdlib.h>

#include <kiln/kernel.h>

//! run beyond grid=1 block=32 (u32[32])
kernel void beyond(u32 *out)
{
    u32 n = thread_x() % 3 + 1, *p = malloc(n * sizeof *p);
    if (!p)
        return;
    for (u32 k = 0; k <= n; k++)
        p[k] = k;
    out[thread_x()] = p[0];
    free(p);
}

//! run before grid=1 block=1 (u64[1], i32=1)
kernel void before(u64 *out, i32 n)
{
    u64 *p = calloc(4, 8);
    if (!p)
        return;
    p[-n] = 3;
    out[0] = p[0];
    free(p);
}
