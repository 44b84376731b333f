// Vectors: one access of 16 bytes each; offsets stand in the address.
#include <kiln/kernel.h>

kernel block(64) void wide(const f32x4 *x, f32x4 *out)
{
    u32 i = global_x() * 2;
    f32x4 a = x[i], b = x[i + 1];
    out[i] = (f32x4){a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
    out[i + 1] = (f32x4){a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w};
}
