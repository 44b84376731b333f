// Narrow storage types and their conversions.
#include <kiln/kernel.h>

kernel block(32) void narrow(const f16 *x, const i8 *q, bf16 *out, u8 *bytes)
{
    u32 i = global_x();
    f32 v = f32(x[i]) * (f32)q[i];
    out[i] = to_bf16(v);
    bytes[i] = (u8)v;
}
