// out[i] = scale[row] * q[i]: int8 weights with one scale per row
#include <kiln/kernel.h>

kernel block(256) void dequant(const i8 *q, const f32 *scale, f32 *out, u32 cols, u32 n)
{
    u32 i = global_x();
    if (i < n)
        out[i] = scale[i / cols] * (f32)q[i];
}
