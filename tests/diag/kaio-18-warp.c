// A warp reduction after a return that only some lanes take.
#include <kiln/kernel.h>

kernel void guarded(const f32 *in, f32 *out, u32 n)
{
    u32 i = global_x();
    if (i >= n)
        return;
    out[i] = warp_sum(in[i]);
}
