// flags: --remarks --check-bounds
// Expect K5006: the pointer is one of two parameters: remark on the access that stays unchecked.
#include <kiln/kernel.h>

kernel block(64) void pick(const f32 *a, const f32 *b, f32 *out, u32 n, u32 which)
{
    u32 i = global_x();
    const f32 *from = which ? a : b;
    if (i < n)
        out[i] = from[i];
}
