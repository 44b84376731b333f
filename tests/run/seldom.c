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
