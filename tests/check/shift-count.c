// flags: --all
// K6215: Counts beyond the width, and negative ones; a mask, the pragma, or CUDA's rule is silent.
#include <kiln/kernel.h>

//! run shifts grid=1 block=64 (u32[64], i64[64]:iota)
kernel block(64) void shifts(u32 *out, const i64 *by)
{
    u32 t = thread_x();
    out[t] = 1u << t;
    out[t] >>= (i32)by[t] - 4;
    out[t] += (u32)((u64)t << t);
}

#pragma kiln shifts(wrap)
//! run wraps grid=1 block=64 (u32[64])
kernel block(64) void wraps(u32 *out)
{
    out[thread_x()] = 1u << thread_x();
}

#pragma kiln shifts(clamp)
//! run clamps grid=1 block=64 (u32[64])
kernel block(64) void clamps(u32 *out)
{
    out[thread_x()] = 1u << thread_x();
}
