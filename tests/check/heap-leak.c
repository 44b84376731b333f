// flags: --leaks --all
// K6219: a return on the way leaves a block behind, in the threads that take it.
#include <stdlib.h>

#include <kiln/kernel.h>

//! run early grid=2 block=32 (u32[64])
kernel void early(u32 *out)
{
    u32 i = global_x(), *p = malloc(40);
    u32 *q = calloc(3, 4);
    if (!p || !q)
        return;
    p[0] = i + q[2];
    if (i % 8 == 5)
        return;
    out[i] = p[0];
    free(p);
    free(q);
}
