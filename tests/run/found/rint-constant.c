// PoCL 3.1 folded rint of a constant of 2^63 and more to code that never ends.
#include <kiln/kernel.h>

//! run large grid=1 block=32 (u32[32]:bits, f64[32], f32[32])
kernel block(32) void large(const u32 *w, f64 *out, f32 *single)
{
    f32 v = (f32)(i32)(w[thread_x()] >> 8);
    out[thread_x()] = rint(v != v ? 65504.0 : 1e30);
    single[thread_x()] = rint(v != v ? 3.5f : 1e30f);
}
