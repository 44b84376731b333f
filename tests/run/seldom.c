// What kernels seldom have: unrolled loops whose end is an inequality or that take wide steps, unions without a member that is all of them, values that
// loops hand round or leave by, escapes and literals, steps that wrap.
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

// Each variable gets the value of the next: loops hand such values round, of every size.
#define ROTATED(T)                                                                                                                           \
    static u32 rotated_##T(u32 rounds, u32 seed)                                                                                             \
    {                                                                                                                                        \
        T a = (T)(seed * 3), b = (T)(seed + 100), c = (T)(seed ^ 85), x = (T)seed, y = (T)(seed * 7);                                              \
        for (u32 i = 0; i < rounds; i++) {                                                                                                   \
            T kept = a, other = x;                                                                                                           \
            a = b;                                                                                                                           \
            b = c;                                                                                                                           \
            c = kept;                                                                                                                        \
            x = y;                                                                                                                           \
            y = other;                                                                                                                       \
        }                                                                                                                                    \
        return (u32)a + (u32)b * 3 + (u32)c * 5 + (u32)x * 7 + (u32)y * 11;                                                                  \
    }
ROTATED(u8)
ROTATED(u16)
ROTATED(u32)
ROTATED(u64)
ROTATED(f32)

//! run handed_round grid=1 block=32 (u32[32]:mod7, u32[160])
kernel block(32) void handed_round(const u32 *rounds, u32 *out)
{
    u32 t = thread_x(), n = rounds[t];
    out[t] = rotated_u8(n, t);
    out[t + 32] = rotated_u16(n, t);
    out[t + 64] = rotated_u32(n, t);
    out[t + 96] = rotated_u64(n, t);
    out[t + 128] = rotated_f32(n, t & 15);
}

// Nearly all of a round is known once it is unrolled, so that it may be many.
//! run unroll_what_folds grid=1 block=32 (u32[1024])
kernel block(32) void unroll_what_folds(u32 *out)
{
    for (u32 i = 0; i < 32; i++) {
        u32 a = i * 0x9e3779b9, b = a ^ (a >> 15), c = b * 0x85ebca6b, d = c ^ (c >> 13);
        u32 e = d * 0xc2b2ae35 + i, f = (e << 3 | e >> 29) ^ a, g = f - d * 3, h = g ^ (g >> 16) ^ c;
        out[i * 32 + thread_x()] = h % 1000;
    }
}

// Escapes end where C says: an octal one after three digits, a hexadecimal one where its digits do.
static const char escapes[] = "\1234\08\7\x41g\"\a\b\f\v\?\'\\\e\377\0001\x7f"
                              "1";

//! run escapes_end grid=1 block=32 (u8[64])
kernel block(32) void escapes_end(u8 *out)
{
    u32 t = thread_x();
    out[t] = t < sizeof escapes ? (u8)escapes[t] : 1;
    out[t + 32] = (u8)("\1234"[t % 3] + '\60' + '\x30' + (t % 2 ? '\0' : '\12'));
}

typedef struct two {
    i32 a;
    u8 b[3];
} two;
typedef struct four {
    two x, y;
} four;
static const four literals[2] = {{(two){1, {2, 3}}, {4, {5}}}, {.y = (two){6, {7, 8, 9}}, .x = (two){.b = {1}}}};
static const two literal = (two){77, {1, 2, 3}};

//! run literals_in_data grid=1 block=32 (i32[32])
kernel block(32) void literals_in_data(i32 *out)
{
    u32 t = thread_x(), k = t & 1, m = (t >> 1) % 3;
    out[t] = literals[k].x.a + literals[k].y.a * 3 + literals[k].x.b[m] * 5 + literals[k].y.b[m] * 7 + literal.a * literal.b[m];
}

// The upper half of the first parameter beside another lower half.
//! run half_of_the_first grid=1 block=32 (u32=3735928559, u32[32]:bits, u32[96])
kernel block(32) void half_of_the_first(u32 p, const u32 *in, u32 *out)
{
    u32 t = thread_x(), upper = (u32)(u16)(p >> 16) << 16;
    out[t] = in[t] | upper;
    out[t + 32] = upper | (u32)(u16)in[t];
    out[t + 64] = (u32)(u16)p | upper;
}

// Loops that leave in their middle, by every test, with a known number of rounds and without.
#define LEAVES(T, name, from, step, test)                                                                                                    \
    static u32 leaves_##T##_##name(T end)                                                                                                    \
    {                                                                                                                                        \
        u32 sum = 1;                                                                                                                         \
        for (T i = from;; i = (T)(i + (step))) {                                                                                             \
            if (test)                                                                                                                        \
                break;                                                                                                                       \
            sum = sum * 5 + (u32)i;                                                                                                          \
        }                                                                                                                                    \
        for (T i = from; !(test); i = (T)(i + (step)))                                                                                       \
            sum = sum * 3 + (u32)i;                                                                                                          \
        T i = from;                                                                                                                          \
        do {                                                                                                                                 \
            sum ^= (u32)i << 3;                                                                                                              \
            i = (T)(i + (step));                                                                                                             \
        } while (!(test));                                                                                                                   \
        return sum;                                                                                                                          \
    }
#define ALL_LEAVES(T)                                                                                                                        \
    LEAVES(T, equal, 0, 1, i == end)                                                                                                         \
    LEAVES(T, at_least, 0, 2, i >= end)                                                                                                      \
    LEAVES(T, above, 0, 3, i > end)                                                                                                          \
    LEAVES(T, turned, 0, 1, end <= i)                                                                                                        \
    LEAVES(T, turned_above, 0, 2, end < i)                                                                                                   \
    LEAVES(T, below, 20, -1, i < end)                                                                                                        \
    LEAVES(T, at_most, 20, -3, i <= end)                                                                                                     \
    LEAVES(T, equal_down, 20, -1, i == end)                                                                                                  \
    LEAVES(T, stays, end, 1, i != end)                                                                                                       \
    LEAVES(T, not, 12, 0, i != end + 40)                                                                                                     \
    static u32 leaves_##T(T e)                                                                                                               \
    {                                                                                                                                        \
        return leaves_##T##_equal(e) + leaves_##T##_at_least(e) * 3 + leaves_##T##_above(e) * 5 + leaves_##T##_turned(e) * 7 +               \
               leaves_##T##_turned_above(e) * 9 + leaves_##T##_below(e) * 11 + leaves_##T##_at_most(e) * 13 + leaves_##T##_not(e) * 15 +     \
               leaves_##T##_stays(e) * 17 + leaves_##T##_equal_down(e) * 19;                                                                 \
    }
ALL_LEAVES(i32)
ALL_LEAVES(u32)
ALL_LEAVES(i64)
ALL_LEAVES(u64)

//! run leaves_known grid=1 block=32 (u32[128])
kernel block(32) void leaves_known(u32 *out)
{
    u32 t = thread_x();
    out[t] = leaves_i32(8) + t;
    out[t + 32] = leaves_u32(7) + t;
    out[t + 64] = leaves_i64(6) + t;
    out[t + 96] = leaves_u64(5) + t;
}

//! run leaves_unknown grid=1 block=32 (u32[128], u32=9)
kernel block(32) void leaves_unknown(u32 *out, u32 end)
{
    u32 t = thread_x();
    out[t] = leaves_i32((i32)end);
    out[t + 32] = leaves_u32(end);
    out[t + 64] = leaves_i64((i64)end + (i64)(t & 1));
    out[t + 96] = leaves_u64((u64)end + (t & 3));
}

// From thread to thread it grows by so much that 32 bits wrap within a warp, before it is widened.
//! run steps_that_wrap grid=1 block=64 (i64[64], u64[64])
kernel block(64) void steps_that_wrap(i64 *out, u64 *more)
{
    out[thread_x()] = (i64)(i32)(thread_x() * 8192u * 16384u);
    more[thread_x()] = (u64)(thread_x() * 8192u * 32768u);
}

// A loop that runs once is a block that break and continue leave.
//! run once_and_out grid=1 block=32 (u32[32]:mod16, u32[32])
kernel block(32) void once_and_out(const u32 *in, u32 *out)
{
    u32 t = thread_x(), x = in[t], sum = 1;
    do {
        sum += 2;
        if (x == 3)
            break;
        sum *= 3;
        if (x > 9)
            continue;
        for (u32 i = 0; i < x; i++) {
            do {
                if ((i & 1) != 0)
                    break;
                sum += i;
                if (i == 4)
                    continue;
                sum ^= 5;
            } while (0);
            if (sum > 200)
                break;
        }
        switch (x & 3) {
        case 0: sum += 7; break;
        case 1:
            do {
                if (x > 4)
                    break;
                sum += 11;
            } while (0);
            sum += 13;
            break;
        default: sum += 17;
        }
        if (sum & 1)
            break;
        sum += 19;
    } while (0);
    do {
        out[t] = sum;
        if (t > 40)
            return;
    } while (0);
}
