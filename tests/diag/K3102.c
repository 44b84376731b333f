// Expect K3102: warp_sum after an early return of some threads: error, labels at the call, the condition and the return.
#include <kiln/kernel.h>

kernel block(128) void total(const f32 *x, f32 *out, u32 n)
{
    u32 i = global_x();
    if (i >= n)
        return;
    f32 sum = warp_sum(x[i]);
    if (lane() == 0)
        out[i / 32] = sum;
}
