// out[i] = silu(x[i]) * gate[i], fused
#include <kiln/kernel.h>

kernel block(256) void silu_gate(const f32 *x, const f32 *gate, f32 *out, u32 n)
{
    u32 i = global_x();
    if (i < n)
        out[i] = x[i] / (1.0f + exp(-x[i])) * gate[i];
}
