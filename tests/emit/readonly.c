// Inputs that nobody writes are read through the read-only path: `out` is restrict, so `x` is another buffer; `same` may be written.
#include <kiln/kernel.h>

kernel block(128) void apart(const f32 *x, f32 *restrict out, u32 n)
{
    for (u32 i = global_x(); i < n; i += 128 * grid_dim_x())
        out[i] = x[i] + 1;
}

kernel block(128) void maybe(const f32 *same, f32 *out, u32 n)
{
    u32 i = global_x();
    if (i < n)
        out[i] = same[i] + 1;
}
