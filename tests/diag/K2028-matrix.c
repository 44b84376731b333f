// Registers for a matrix product that do not go together: each wrong argument is named, and a pointer gets the way out.
#include <kiln/kernel.h>

static void helper(f32 *acc, u64 a, u64 b)
{
    wgmma_bf16(acc, a, b, true);
}

kernel block(128) void f(f32 *out)
{
    f32 d[4], wide[130];
    u32 a[4], b[2];
    i32 n[4];
    mma_bf16(d, b, a);
    mma_bf16(n, a, b);
    ldmatrix(d, out);
    wgmma_f16(wide, 0, 0, true);
    helper(d, 0, 0);
}
