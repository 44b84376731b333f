// What kernels seldom have: unrolled loops whose end is an inequality or that take wide steps, unions without a member that is all of them.
#include <kiln/kernel.h>

#include "open.h"

//! run unroll_to_unequal grid=1 block=32 (i32[32], i32=37)
kernel block(32) void unroll_to_unequal(i32 *out, i32 n)
{
    i32 sum = 0;
#pragma unroll 4
    for (i32 i = 0; i != n; i++)
        sum += i * (i32)(thread_x() + 1);
    out[thread_x()] = sum;
}

//! run unroll_wide_steps grid=1 block=32 (i32[32], i32=100000000)
kernel block(32) void unroll_wide_steps(i32 *out, i32 n)
{
    i32 sum = 0;
#pragma unroll 4
    for (i32 i = 0; i < n; i += 3000000)
        sum += i >> 4;
    for (i32 i = n; i > 0; i -= 3000000)
        sum ^= i + (i32)thread_x();
    out[thread_x()] = sum;
}

typedef struct padded {
    u8 a;
    u16 b;
    u8 c;
} padded;
typedef union holes {
    padded p;
    u8 bytes[5];
} holes;
typedef struct around {
    u32 before;
    holes h;
    u32 after;
} around;

//! run union_with_holes grid=1 block=32 (u32[160]:bits, u32[160])
kernel block(32) void union_with_holes(const u32 *in, u32 *out)
{
    u32 t = thread_x();
    around a = {.before = in[t], .after = in[t + 32]}, b;
    a.h.p.a = (u8)in[t + 64];
    a.h.p.b = (u16)in[t + 96];
    a.h.p.c = (u8)in[t + 128];
    b = a;
    a.before = 0;
    out[t] = b.before + a.before;
    out[t + 32] = b.h.p.a;
    out[t + 64] = b.h.p.b;
    out[t + 96] = b.h.p.c;
    out[t + 128] = b.after;
}

// Its second parameter may lie anywhere, what it is chosen against is the thread's own.
noinline static u32 pick(u32 n, const u32 *from, bool takes)
{
    u32 mine[2] = {n * 3, n * 5};
    const u32 *p = takes ? from : mine;
    return p[n & 1];
}

//! run pointer_behind_a_number grid=1 block=32 (u32[64]:bits, u32[32])
kernel block(32) void pointer_behind_a_number(const u32 *in, u32 *out)
{
    shared u32 tile[64];
    u32 t = thread_x();
    tile[t] = in[t];
    tile[t + 32] = in[t + 32];
    barrier();
    out[t] = pick(t, in + t, t % 3 == 0) + pick(t + 1, tile + t, t % 2 == 0);
}

//! run clock_goes_on grid=1 block=32 (u32[64])
kernel block(32) void clock_goes_on(u32 *out)
{
    u64 before = clock_cycles();
    for (u32 i = 0; i < 200; i++)
        out[thread_x()] += out[thread_x()] * 3 + i;
    out[thread_x() + 32] = clock_cycles() > before;
}
