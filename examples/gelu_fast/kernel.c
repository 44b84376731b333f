// out[i] = gelu(x[i]) by the tanh formula
#include <kiln/kernel.h>

kernel block(256) void gelu_fast(const f32 *x, f32 *out, u32 n)
{
    u32 i = global_x();
    if (i < n)
        {
        f32 v = x[i];
        out[i] = 0.5f * v * (1.0f + tanh(0.79788456f * (v + 0.044715f * v * v * v)));
    }
}
