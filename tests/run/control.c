// Control flow: loops of every kind, break and continue at every depth, switch, early return,
// short circuit, divergence.
#include <kiln/kernel.h>
#pragma GCC diagnostic ignored "-Wempty-body"
#pragma GCC diagnostic ignored "-Wdangling-else"

//! run for_loops block=40 (i32[40]:iota, i32[40])
kernel void for_loops(const i32 *a, i32 *out)
{
    i32 n = a[thread_x()], sum = 0;
    for (i32 i = 0; i < n; i++)
        sum += i * i;
    for (i32 i = n; i > 0; i -= 3)
        sum ^= i;
    for (i32 i = 1, j = 100; i < j; i += 2, j -= 3)
        sum += j - i;
    i32 k = 0;
    for (; k < n;)
        k += 7;
    for (;;)
        if (++k > 50)
            break;
    out[thread_x()] = sum * 100 + k;
}

//! run while_loops block=40 (u32[40]:rand, u32[40])
kernel void while_loops(const u32 *a, u32 *out)
{
    u32 x = a[thread_x()] % 1000 + 1, steps = 0;
    while (x != 1) {
        x = x & 1 ? 3 * x + 1 : x / 2;
        steps++;
    }
    do
        x = x * 2 + steps;
    while (x < 1000);
    do {
        steps++;
        if (steps % 5 == 0)
            break;
    } while (true);
    out[thread_x()] = steps * 10000 + x;
}

//! run break_continue block=64 (i32[64]:iota, i32[64])
kernel void break_continue(const i32 *a, i32 *out)
{
    i32 n = a[thread_x()], sum = 0;
    for (i32 i = 0; i < 100; i++) {
        if (i % 3 == 0)
            continue;
        if (i > n)
            break;
        i32 j = 0;
        while (j < i) {
            j++;
            if (j == 5)
                continue;
            if (j * i > 200)
                break;
            sum += j;
        }
        do {
            if (sum & 1)
                break;
            sum += 3;
            if (j-- > 2)
                continue;
            sum ^= 1;
        } while (j > 0);
    }
    out[thread_x()] = sum;
}

//! run nested_four block=32 (u32[32])
kernel void nested_four(u32 *out)
{
    u32 t = thread_x(), count = 0;
    for (u32 a = 0; a < 4; a++)
        for (u32 b = a; b < 5; b++)
            for (u32 c = 0; c < b; c++) {
                if (c == t % 3)
                    continue;
                for (u32 d = 0; d < 3; d++) {
                    if (a + b + c + d == t)
                        break;
                    count += a * 64 + b * 16 + c * 4 + d;
                }
            }
    out[t] = count;
}

//! run switches block=64 (i32[64]:iota, i32[64])
kernel void switches(const i32 *a, i32 *out)
{
    i32 x = a[thread_x()], r = 0;
    switch (x % 8) {
    case 0: r = 10; break;
    case 1:
    case 2: r = 20; break;
    case 3:
        r = 30; // falls through
        __attribute__((fallthrough));
    case 4: r += 40; break;
    case 5: {
        i32 y = x * 2;
        r = y;
        break;
    }
    default: r = -1;
    }
    switch (x) {
    case 7: r *= 2;
    }
    switch (x & 3) {
    default: r += 1000; break;
    case 1: r += 2000;
    }
    out[thread_x()] = r;
}

//! run switch_falls block=32 (u32[32]:iota, u32[32])
kernel void switch_falls(const u32 *a, u32 *out)
{
    u32 n = a[thread_x()] % 6, r = 1;
    switch (n) {
    case 5: r *= 5; __attribute__((fallthrough));
    case 4: r *= 4; __attribute__((fallthrough));
    case 3: r *= 3; __attribute__((fallthrough));
    case 2: r *= 2; __attribute__((fallthrough));
    default: break;
    }
    out[thread_x()] = r;
}

//! run switch_in_loop block=48 (u32[48]:rand, u32[48])
kernel void switch_in_loop(const u32 *a, u32 *out)
{
    u32 x = a[thread_x()], acc = 0, state = 0;
    for (u32 i = 0; i < 32; i++) {
        switch (state) {
        case 0:
            if (x >> i & 1)
                state = 1;
            break;
        case 1:
            acc += i;
            if (!(x >> i & 1)) {
                state = 2;
                continue;
            }
            break;
        case 2:
            acc ^= i << 8;
            state = x >> (i / 2) & 1;
            break;
        default: acc = 0; break;
        }
        acc = acc * 3 + state;
    }
    out[thread_x()] = acc;
}

//! run switch_wide block=16 (i64[16]:edge, i32[16])
kernel void switch_wide(const i64 *a, i32 *out)
{
    i32 r = 0;
    switch (a[thread_x()]) {
    case 0: r = 1; break;
    case -1: r = 2; break;
    case 0x7fffffffffffffff: r = 3; break;
    case 4294967296: r = 4; break;
    case 2147483648: r = 5; break;
    default: r = 6; break;
    }
    out[thread_x()] = r;
}

//! run switch_narrow block=64 (i8[64]:edge, u8[64]:edge, i32[64])
kernel void switch_narrow(const i8 *a, const u8 *b, i32 *out)
{
    i32 r = 0;
    switch (a[thread_x()]) {
    case -128: r = 1; break;
    case -1: r = 2; break;
    case 'A' - 1: r = 3; break;
    case 100: r = 4; break;
    }
    switch (b[thread_x()]) {
    case 255: r += 10; break;
    case 128: r += 20; break;
    }
    out[thread_x()] = r;
}

//! run early_return grid=2 block=50 (i32[100]:sym9, i32[100], i32=80)
kernel void early_return(const i32 *a, i32 *out, i32 n)
{
    i32 i = (i32)global_x();
    if (i >= n)
        return;
    if (a[i] < 0) {
        out[i] = -1;
        return;
    }
    for (i32 k = 0; k < 10; k++)
        if (k == a[i]) {
            out[i] = k * 7;
            return;
        }
    out[i] = 99;
}

static i32 first_above(const i32 *a, i32 limit)
{
    for (i32 i = 0; i < 8; i++) {
        if (a[i] > limit)
            return i;
        if (a[i] == -9) {
            while (limit > 0) {
                if (limit == 3)
                    return -3;
                limit--;
            }
        }
    }
    return -1;
}
//! run return_in_function block=32 (i32[256]:sym9, i32[32])
kernel void return_in_function(const i32 *a, i32 *out)
{
    u32 i = thread_x();
    out[i] = first_above(a + 8 * i, (i32)(i % 9));
}

static u32 bump(u32 *counter, u32 result)
{
    *counter += 1;
    return result;
}
//! run short_circuit block=8 (u32[24])
kernel void short_circuit(u32 *out)
{
    u32 i = thread_x(), calls = 0;
    u32 p = i & 1, q = i >> 1 & 1, r = i >> 2 & 1;
    bool x = (bump(&calls, p) && bump(&calls, q)) || bump(&calls, r);
    bool y = bump(&calls, p) || (bump(&calls, q) && bump(&calls, r));
    bool z = !bump(&calls, p) && !bump(&calls, q);
    out[3 * i] = calls;
    out[3 * i + 1] = x + 2u * y + 4u * z;
    u32 w = p ? bump(&calls, 5) : bump(&calls, 6) + bump(&calls, 7);
    out[3 * i + 2] = w * 100 + calls;
}

//! run guarded_load block=64 (i32[16]:rand, i32[64]:iota, i32[64])
kernel void guarded_load(const i32 *table, const i32 *index, i32 *out)
{
    i32 i = index[thread_x()];
    i32 x = i < 16 && table[i] > 0 ? table[i] : -1;
    if (i >= 16 || table[i] < 0)
        x += 5;
    out[thread_x()] = x;
}

//! run ternaries block=64 (i32[64]:sym9, f32[64]:rand, i32[64], f32[64])
kernel void ternaries(const i32 *a, const f32 *b, i32 *out, f32 *real)
{
    i32 x = a[thread_x()];
    f32 y = b[thread_x()];
    out[thread_x()] = x > 5 ? 1 : x > 0 ? 2 : x == 0 ? 3 : x < -5 ? 4 : 5;
    real[thread_x()] = (x & 1 ? y : -y) * (y > 0 ? 2 : 0.5f);
    const i32 *p = x > 0 ? a : out;
    real[thread_x()] += p == a;
}

//! run commas block=16 (i32[16]:iota, i32[16])
kernel void commas(const i32 *a, i32 *out)
{
    i32 x = a[thread_x()], y;
    y = (x += 2, x *= 3, x - 1);
    for (i32 i = 0; i++, i < 4; y += i, x -= i)
        ;
    out[thread_x()] = (x > 10 ? (y++, y) : (y--, -y)) + x;
}

//! run divergent_trip_counts block=64 (u32[64]:rand, u32[64])
kernel void divergent_trip_counts(const u32 *a, u32 *out)
{
    u32 n = a[thread_x()] % 37, x = 1;
    for (u32 i = 0; i < n; i++) {
        if (i & 1) {
            u32 k = x % 5;
            while (k--)
                x = x * 3 + k;
        } else {
            x ^= x >> 3;
        }
        if (x > 4000000000u)
            break;
    }
    out[thread_x()] = x;
}

//! run divergence_and_barrier block=64 (u32[64]:rand, u32[64])
kernel block(64) void divergence_and_barrier(const u32 *a, u32 *out)
{
    shared u32 tile[64];
    u32 i = thread_x(), x = a[i];
    for (u32 round = 0; round < 4; round++) {
        if (x & 1)
            tile[i] = x / 3;
        else
            tile[i] = x + round;
        barrier();
        x += tile[(i * 7 + round) % 64];
        barrier();
    }
    out[i] = x;
}

//! run empty_statements block=8 (i32[8]:iota, i32[8])
kernel void empty_statements(const i32 *a, i32 *out)
{
    ;
    {} {
        ;
        ;
    }
    if (a[0])
        ;
    else
        ;
    for (i32 i = 0; i < 3; i++) {
    }
    out[thread_x()] = a[thread_x()];
}

//! run dangling_else block=16 (i32[16]:iota, i32[16])
kernel void dangling_else(const i32 *a, i32 *out)
{
    i32 x = a[thread_x()], r = 0;
    if (x > 4)
        if (x > 8)
            r = 1;
        else
            r = 2;
    if (x > 12) {
        if (x > 14)
            r = 3;
    } else
        r += 10;
    out[thread_x()] = r;
}

//! run unrolled block=32 (f32[128]:rand, f32[32])
kernel void unrolled(const f32 *a, f32 *out)
{
    f32 sum = 0, other = 1;
#pragma unroll
    for (u32 k = 0; k < 4; k++)
        sum += a[4 * thread_x() + k];
#pragma unroll 2
    for (u32 k = 0; k < 7; k++)
        other = other * 0.5f + sum;
#pragma unroll 1
    for (u32 k = 0; k < 3; k++)
        other += (f32)k;
    out[thread_x()] = other;
}

//! run loop_bound_changes block=16 (i32[16]:iota, i32[16])
kernel void loop_bound_changes(const i32 *a, i32 *out)
{
    i32 n = a[thread_x()], rounds = 0;
    for (i32 i = 0; i < n; i++) {
        n -= 1;
        rounds++;
    }
    for (i32 i = 0; i < 20; i++) {
        i += rounds & 3;
        rounds += 100;
    }
    out[thread_x()] = rounds;
}

//! run do_continue block=16 (u32[16]:iota, u32[16])
kernel void do_continue(const u32 *a, u32 *out)
{
    u32 n = a[thread_x()], turns = 0, i = 0;
    do {
        turns++;
        if (i % 2 == 0)
            continue;
        turns += 10;
    } while (++i < n);
    out[thread_x()] = turns;
}

//! run loop_carried block=32 (f32[32]:unit, f32[32], u32[32])
kernel void loop_carried(const f32 *a, f32 *out, u32 *steps)
{
    f32 c = a[thread_x()] * 2 - 1, zr = 0, zi = 0;
    u32 n = 0;
    while (n < 50 && zr * zr + zi * zi < 4) {
        f32 next = zr * zr - zi * zi + c;
        zi = 2 * zr * zi + c * 0.5f;
        zr = next;
        n++;
    }
    out[thread_x()] = zr;
    steps[thread_x()] = n;
}

// Four rounds at a time and the rest one by one, left by both tests; what the loop has found is used behind it.
//! run unrolled_and_left block=32 (u32[512]:mod9, u32[64], u32=14)
kernel void unrolled_and_left(const u32 *in, u32 *out, u32 n)
{
    u32 t = thread_x(), sum = 0, last = 0, count = t % 2 ? n : t / 2;
#pragma unroll 4
    for (u32 i = 0; i < count; i++) {
        last = in[16 * t + i] * (t + 1);
        if (last % 17 == 5)
            break;
        sum += last * (i + 1);
    }
    out[2 * t] = sum;
    out[2 * t + 1] = last;
}
