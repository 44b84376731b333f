// Warp and block reductions and scans: every operation and type, whole and partial warps, repeated
// calls, two and three dimensions.
#include <kiln/kernel.h>

#define WARP(T)                                                                                    \
    kernel void warp_reduce_##T(const T *a, T *out)                                                \
    {                                                                                              \
        u32 i = thread_rank(), n = block_threads();                                                \
        T x = a[i];                                                                                \
        out[i] = warp_sum(x);                                                                      \
        out[n + i] = warp_min(x);                                                                  \
        out[2 * n + i] = warp_max(x);                                                              \
    }                                                                                              \
    kernel void block_reduce_##T(const T *a, T *out)                                               \
    {                                                                                              \
        u32 i = thread_rank(), n = block_threads();                                                \
        T x = a[i];                                                                                \
        out[i] = block_sum(x);                                                                     \
        out[n + i] = block_min(x);                                                                 \
        out[2 * n + i] = block_max(x);                                                             \
    }                                                                                              \
    kernel void warp_scan_##T(const T *a, T *out)                                                  \
    {                                                                                              \
        u32 i = thread_rank(), n = block_threads();                                                \
        T x = a[i];                                                                                \
        out[i] = warp_scan_sum(x);                                                                 \
        out[n + i] = warp_scan_min(x);                                                             \
        out[2 * n + i] = warp_scan_max(x);                                                         \
        out[3 * n + i] = warp_scan_sum_before(x);                                                  \
    }                                                                                              \
    kernel void block_scan_##T(const T *a, T *out)                                                 \
    {                                                                                              \
        u32 i = thread_rank(), n = block_threads();                                                \
        T x = a[i];                                                                                \
        out[i] = block_scan_sum(x);                                                                \
        out[n + i] = block_scan_min(x);                                                            \
        out[2 * n + i] = block_scan_max(x);                                                        \
        out[3 * n + i] = block_scan_sum_before(x);                                                 \
    }
//! run {warp,block}_reduce_{i32,u32,i64,u64,f32,f64} block=96 ($2[96]:rand, $2[288])
//! run {warp,block}_reduce_{i32,u64,f32,f64} block=75 ($2[75]:rand, $2[225])
//! run {warp,block}_reduce_{i32,f32} block=7 ($2[7]:rand, $2[21])
//! run {warp,block}_reduce_{i64,f64} block=1 ($2[1]:rand, $2[3])
//! run {warp,block}_reduce_f32 block=5,4,3 (f32[60]:rand, f32[180])
//! run {warp,block}_reduce_f32 block=256 (f32[256]:edge, f32[768])
//! run {warp,block}_scan_{i32,u32,i64,u64,f32,f64} block=96 ($2[96]:rand, $2[384])
//! run {warp,block}_scan_{i32,u64,f32,f64} block=75 ($2[75]:rand, $2[300])
//! run {warp,block}_scan_{u32,f64} block=9,5 ($2[45]:rand, $2[180])
//! run {warp,block}_scan_f32 block=1 (f32[1]:rand, f32[4])
WARP(i32)
WARP(u32)
WARP(i64)
WARP(u64)
WARP(f32)
WARP(f64)

#define LOGIC(T)                                                                                   \
    kernel void logic_##T(const T *a, T *out)                                                      \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        T x = a[i];                                                                                \
        out[6 * i] = warp_and(x);                                                                  \
        out[6 * i + 1] = warp_or(x & 0xff00ff);                                                    \
        out[6 * i + 2] = warp_xor(x);                                                              \
        out[6 * i + 3] = block_and(x | 0xffff);                                                    \
        out[6 * i + 4] = block_or(x & 7);                                                          \
        out[6 * i + 5] = block_xor(x);                                                             \
    }
//! run logic_{u32,u64} block=80 ($1[80]:rand, $1[480])
//! run logic_{u32,u64} block=64 ($1[64]:rand, $1[384])
LOGIC(u32)
LOGIC(u64)

//! run block_votes grid=3 block=80 (i32[240]:sym40, u32[720])
kernel void block_votes(const i32 *a, u32 *out)
{
    u32 i = global_x();
    out[3 * i] = block_any(a[i] == 40);
    out[3 * i + 1] = block_all(a[i] < 40);
    out[3 * i + 2] = block_count(a[i] > 0);
}

static bool softmax_sums_to_one(const f32 *in, f32 *out)
{
    (void)in;
    f64 sum = 0;
    for (u32 i = 0; i < 96; i++)
        sum += (f64)out[i];
    return sum > 0.999 && sum < 1.001;
}
// Two reductions in a row: the first's result must survive the second (a missing barrier shows
// here).
//! run norm_twice block=96 check=softmax_sums_to_one (f32[96]:unit, f32[96])
kernel block(96) void norm_twice(const f32 *in, f32 *out)
{
    u32 i = thread_x();
    f32 top = block_max(in[i]);
    f32 e = in[i] - top + 2;
    f32 sum = block_sum(e);
    out[i] = e / sum;
}

//! run many_reductions block=160 (f32[160]:rand, f32[160])
kernel block(160) void many_reductions(const f32 *in, f32 *out)
{
    f32 x = in[thread_x()], sum = 0;
    for (u32 k = 0; k < 10; k++) {
        f32 total = block_sum(x);
        x = x * 0.5f + total * 0.001f;
        sum += block_max(x) - block_min(x);
    }
    out[thread_x()] = sum + x;
}

static bool layer_norm_is_close(const f32 *in, f32 *out)
{
    f64 mean = 0, variance = 0;
    for (u32 i = 0; i < 128; i++)
        mean += (f64)in[i] / 128;
    for (u32 i = 0; i < 128; i++)
        variance += ((f64)in[i] - mean) * ((f64)in[i] - mean) / 128;
    for (u32 i = 0; i < 128; i++) {
        f64 want = ((f64)in[i] - mean) / sqrt(variance + 1e-5);
        if (fabs((f64)out[i] - want) > 1e-4)
            return false;
    }
    return true;
}
//! run layer_norm block=128 check=layer_norm_is_close (f32[128]:rand, f32[128])
kernel block(128) void layer_norm(const f32 *in, f32 *out)
{
    u32 i = thread_x();
    f32 mean = block_sum(in[i]) / 128;
    f32 d = in[i] - mean;
    f32 variance = block_sum(d * d) / 128;
    out[i] = d / sqrt(variance + 1e-5f);
}

//! run in_uniform_branch grid=4 block=64 (f32[256]:rand, f32[256])
kernel block(64) void in_uniform_branch(const f32 *in, f32 *out)
{
    f32 x = in[global_x()];
    if (block_x() & 1)
        x = block_sum(x);
    else if (warp() == 0)
        x = warp_max(x);
    out[global_x()] = x;
}
