// Shuffles of every type, votes and matches, on whole and partial warps.
#include <kiln/kernel.h>

#define SHUFFLES(T)                                                                                \
    kernel void shuffles_##T(const T *a, const u32 *by, T *out)                                    \
    {                                                                                              \
        u32 i = thread_rank(), n = block_threads(), k = by[i];                                     \
        T x = a[i];                                                                                \
        out[i] = shuffle(x, k);                                                                    \
        out[n + i] = shuffle_up(x, k);                                                             \
        out[2 * n + i] = shuffle_down(x, k);                                                       \
        out[3 * n + i] = shuffle_xor(x, k);                                                        \
        out[4 * n + i] = shuffle(x, 3);                                                            \
        out[5 * n + i] = shuffle_up(x, 1);                                                         \
        out[6 * n + i] = shuffle_down(x, 16);                                                      \
        out[7 * n + i] = shuffle_xor(x, 31);                                                       \
    }                                                                                              \
    kernel void segments_##T(const T *a, const u32 *by, T *out)                                    \
    {                                                                                              \
        u32 i = thread_rank(), n = block_threads(), k = by[i];                                     \
        T x = a[i];                                                                                \
        out[i] = shuffle_in(x, k, 8);                                                              \
        out[n + i] = shuffle_up_in(x, k, 16);                                                      \
        out[2 * n + i] = shuffle_down_in(x, k, 4);                                                 \
        out[3 * n + i] = shuffle_xor_in(x, k, 2);                                                  \
        out[4 * n + i] = shuffle_in(x, 1, 32);                                                     \
        out[5 * n + i] = shuffle_up_in(x, 1, 1);                                                   \
        out[6 * n + i] = shuffle_down_in(x, 1, 8);                                                 \
        out[7 * n + i] = shuffle_xor_in(x, 3, 16);                                                 \
    }
//! run {shuffles,segments}_{i8,u8,i16,u16,i32,u32,i64,u64,f16,bf16,f32,f64} block=64 ($2[64]:bits, u32[64]:mod32, $2[512])
//! run {shuffles,segments}_{u8,i64,f32} block=45 ($2[45]:bits, u32[45]:mod40, $2[360])
//! run shuffles_{u32,f64} block=7,3 ($1[21]:bits, u32[21]:bits, $1[168])
SHUFFLES(i8)
SHUFFLES(u8)
SHUFFLES(i16)
SHUFFLES(u16)
SHUFFLES(i32)
SHUFFLES(u32)
SHUFFLES(i64)
SHUFFLES(u64)
SHUFFLES(f16)
SHUFFLES(bf16)
SHUFFLES(f32)
SHUFFLES(f64)

//! run shuffle_bool block=40 (i32[40]:bits, i32[40])
kernel void shuffle_bool(const i32 *a, i32 *out)
{
    u32 i = thread_x();
    bool odd = a[i] & 1;
    bool other = shuffle_xor(odd, 1);
    out[i] = odd + 2 * other;
}

//! run votes grid=2 block=64 (i32[128]:sym3, u32[512])
//! run votes block=33 (i32[33]:sym1, u32[132])
//! run votes block=5,5 (i32[25]:sym1, u32[100])
kernel void votes(const i32 *a, u32 *out)
{
    u32 i = block_x() * block_threads() + thread_rank(), o = 4 * i;
    out[o] = warp_ballot(a[i] > 0);
    out[o + 1] = warp_any(a[i] > 2) + 2u * warp_all(a[i] > -4);
    out[o + 2] = warp_all(a[i] == 0) + 2u * warp_any(a[i] == 77);
    out[o + 3] = popcount(warp_ballot(true)) + warp_ballot(lane() & 1);
}

#define MATCH(T)                                                                                   \
    kernel void match_##T(const T *a, u32 *out)                                                    \
    {                                                                                              \
        u32 i = thread_x();                                                                        \
        out[i] = warp_match(a[i]);                                                                 \
    }
//! run match_{i32,u32,i64,u64} block=64 ($1[64]:mod4, u32[64])
//! run match_{i32,u32,i64,u64} block=50 ($1[50]:mod3, u32[50])
MATCH(i32)
MATCH(u32)
MATCH(i64)
MATCH(u64)

//! run active block=40 (i32[40]:sym5, u32[40])
kernel void active(const i32 *a, u32 *out)
{
    u32 i = thread_x();
    u32 self = 0;
    if (a[i] > 0)
        self = warp_active() >> lane() & 1;
    out[i] = self;
}

//! run broadcast_chain block=64 (f32[64]:rand, f32[64])
kernel void broadcast_chain(const f32 *a, f32 *out)
{
    u32 i = thread_x();
    f32 x = a[i], sum = 0;
    for (u32 k = 0; k < 32; k++)
        sum = sum * 0.5f + shuffle(x, k);
    out[i] = sum;
}

//! run butterfly block=64 (f32[64]:rand, f32[64])
kernel block(64) void butterfly(const f32 *a, f32 *out)
{
    f32 x = a[thread_x()];
    for (u32 step = 16; step > 0; step /= 2)
        x += shuffle_xor(x, step);
    out[thread_x()] = x;
}

//! run warp_leaders grid=2 block=96 (u32[192]:rand, u32[6])
kernel void warp_leaders(const u32 *a, u32 *out)
{
    u32 i = global_x(), best = a[i];
    for (u32 step = 1; step < 32; step *= 2)
        best = max(best, shuffle_down(best, step));
    if (lane() == 0)
        out[block_x() * warp_count() + warp()] = best;
}

//! run one_warp_only block=96 (u32[96]:rand, u32[96])
kernel block(96) void one_warp_only(const u32 *a, u32 *out)
{
    u32 i = thread_x(), x = a[i];
    if (warp() == 1) {
        x = shuffle_xor(x, 1) + warp_ballot(x & 1);
        warp_sync();
    }
    out[i] = x;
}

//! run promised block=64 (u32[64]:rand, u32[64])
kernel void promised(const u32 *a, u32 *out)
{
    u32 i = thread_x();
    u32 first = promise_block_uniform(a[0] & 1);
    u32 mine = promise_warp_uniform(warp());
    if (first)
        barrier();
    if (mine == 1)
        out[i] = shuffle_xor(a[i], 2);
    else
        out[i] = first;
}

//! run compact block=64 (i32[64]:sym9, i32[64], u32[2])
kernel block(64) void compact(const i32 *a, i32 *out, u32 *count)
{
    u32 i = thread_x();
    bool keep = a[i] > 0;
    u32 mask = warp_ballot(keep), before = popcount(mask & ((1u << lane()) - 1));
    if (keep)
        out[warp() * 32 + before] = a[i];
    if (lane() == 0)
        count[warp()] = popcount(mask);
}

//! run shuffle_any_width block=40 (i32[40]:iota, i32[1440])
kernel void shuffle_any_width(const i32 *a, i32 *out)
{
    i32 v = a[thread_x()] * 3 + 1;
    for (u32 k = 0; k < 6; k++) {
        u32 width = 1u << k;
        i32 *o = out + thread_x() * 36 + k * 6;
        o[0] = shuffle_in(v, 3, width);
        o[1] = shuffle_up_in(v, k + 1, width);
        o[2] = shuffle_down_in(v, k, width);
        o[3] = shuffle_xor_in(v, 5, width);
        o[4] = shuffle_xor_in(v, 1, width);
        o[5] = shuffle_in(v, lane() + 40, width);
    }
}

// Whole warps take part, which Kiln can see though the kernel does not say its block.
//! run rank_guard block=16,6 (i32[96]:iota, i32[96])
kernel void rank_guard(const i32 *a, i32 *out)
{
    i32 v = a[thread_rank()];
    if (thread_rank() < 64)
        v = warp_sum(v);
    if (thread_rank() / 32 == 2)
        v -= warp_max(v);
    out[thread_rank()] = v;
}
