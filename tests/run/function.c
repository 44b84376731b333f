// Device functions: parameters, results, inlining many times, scope and shadowing, order of
// effects.
#include <kiln/kernel.h>

static i32 square(i32 x)
{
    return x * x;
}
static inline i32 twice(i32 x)
{
    return square(x) + square(x + 1);
}
i32 plain(i32 x);
i32 plain(i32 x)
{
    x += 1;
    return twice(x) - x;
}
static u8 narrow(u8 x)
{
    return (u8)(x * 3);
}
static void fill(i32 *out, u32 count, i32 value)
{
    for (u32 i = 0; i < count; i++)
        out[i] = value + (i32)i;
}
static bool is_even(u32 x)
{
    return x % 2 == 0;
}
static f32 average(const f32 *a, u32 n)
{
    f32 sum = 0;
    for (u32 i = 0; i < n; i++)
        sum += a[i];
    return n ? sum / (f32)n : 0;
}

//! run calls block=32 (i32[32]:sym99, i32[32])
kernel void calls(const i32 *in, i32 *out)
{
    i32 x = in[thread_x()];
    out[thread_x()] =
        plain(x) + twice(square(x)) - square(twice(x)) + narrow((u8)x) + is_even((u32)x);
}

//! run call_with_pointers block=8 (i32[64], f32[64]:rand, f32[8])
kernel void call_with_pointers(i32 *out, const f32 *in, f32 *means)
{
    i32 local[8];
    fill(local, 8, (i32)thread_x() * 100);
    fill(out + 8 * thread_x(), 4, 7);
    for (u32 i = 4; i < 8; i++)
        out[8 * thread_x() + i] = local[i];
    means[thread_x()] = average(in + 8 * thread_x(), thread_x());
}

static u32 gcd(u32 a, u32 b)
{
    while (b) {
        u32 t = a % b;
        a = b;
        b = t;
    }
    return a;
}
static bool gcd_is_right(const u32 *a, const u32 *b, u32 *out)
{
    for (u32 i = 0; i < 64; i++)
        if (out[i] != gcd(a[i], b[i]))
            return false;
    return true;
}
//! run common_divisor block=64 check=gcd_is_right (u32[64]:mod5000, u32[64]:mod5000, u32[64])
kernel void common_divisor(const u32 *a, const u32 *b, u32 *out)
{
    out[thread_x()] = gcd(a[thread_x()], b[thread_x()]);
}

static i32 shadow(i32 x)
{
    i32 y = x;
    {
        i32 x = y + 1;
        y = x * 2;
        for (i32 x = 0; x < 3; x++)
            y += x;
        if (y > 5) {
            i32 y = 100;
            x += y;
        }
        y += x;
    }
    return x * 1000 + y;
}
//! run scopes block=16 (i32[16]:iota, i32[16])
kernel void scopes(const i32 *in, i32 *out)
{
    i32 out_of_loop = -1;
    for (i32 i = 0; i < 3; i++) {
        i32 out_of_loop = i * 10;
        out_of_loop++;
    }
    out[thread_x()] = shadow(in[thread_x()]) + out_of_loop;
}

static i32 collatz(i32 n, i32 *highest)
{
    i32 steps = 0;
    *highest = n;
    while (n != 1 && steps < 200) {
        n = n % 2 ? 3 * n + 1 : n / 2;
        *highest = max(*highest, n);
        steps++;
    }
    return steps;
}
//! run two_results block=64 (i32[64]:iota, i32[128])
kernel void two_results(const i32 *in, i32 *out)
{
    i32 top;
    out[2 * thread_x()] = collatz(in[thread_x()] + 1, &top);
    out[2 * thread_x() + 1] = top;
}

static void exchange_halves(u32 *tile)
{
    u32 i = thread_x(), mine = tile[i];
    barrier();
    tile[i ^ 32] = mine;
    barrier();
}
//! run barrier_in_function block=64 (u32[64]:rand, u32[64])
kernel block(64) void barrier_in_function(const u32 *in, u32 *out)
{
    shared u32 tile[64];
    tile[thread_x()] = in[thread_x()];
    barrier();
    exchange_halves(tile);
    out[thread_x()] = tile[thread_x()];
    exchange_halves(tile);
    out[thread_x()] += 3 * tile[63 - thread_x()];
}

static u32 shared_in_function(u32 x)
{
    shared u32 slots[64];
    barrier();
    slots[thread_x()] = x;
    barrier();
    return slots[(thread_x() + 1) % 64];
}
//! run function_shared block=64 (u32[64]:rand, u32[64])
kernel block(64) void function_shared(const u32 *in, u32 *out)
{
    u32 x = shared_in_function(in[thread_x()]);
    out[thread_x()] = shared_in_function(x ^ 5) + x;
}

static i32 note(i32 *log, i32 *count, i32 value)
{
    log[(*count)++ & 7] = value;
    return value;
}
// Each effect is in a full expression of its own, so that C fixes the order, too.
//! run effects_in_order block=4 (i32[4]:iota, i32[32])
kernel void effects_in_order(const i32 *in, i32 *out)
{
    i32 log[8] = {0}, count = 0;
    i32 a = note(log, &count, in[thread_x()]);
    a = a + note(log, &count, 10);
    if (note(log, &count, a) > 11 && note(log, &count, 20))
        a += note(log, &count, 30);
    a = note(log, &count, 40) ? a : 0;
    for (i32 i = 0; i < 8; i++)
        out[8 * thread_x() + (u32)i] = log[i] + a;
}

static f32 horner(const f32 *c, i32 n, f32 x)
{
    f32 r = 0;
    while (n-- > 0)
        r = fma(r, x, c[n]);
    return r;
}
//! run polynomial block=32 (f32[8]:unit, f32[32]:unit, f32[32])
kernel void polynomial(const f32 *c, const f32 *x, f32 *out)
{
    out[thread_x()] = horner(c, 8, x[thread_x()]) + horner(c + 2, 3, -x[thread_x()]);
}

// Parameters of every type and enough of them.
//! run many_parameters block=4 (i8=-5, u8=200, i16=-300, u16=60000, i32=-70000, u32=3000000000, i64=-5000000000, u64=10000000000000000000, f32=1.5, f64=-2.25, bool=1, f64[4])
kernel void many_parameters(i8 a, u8 b, i16 c, u16 d, i32 e, u32 f, i64 g, u64 h, f32 i, f64 j,
                            bool k, f64 *out)
{
    out[thread_x()] = a + b + c + d + e + (f64)f + (f64)g + (f64)h + (f64)i + j + k;
    a = 3;
    out[thread_x()] += a;
}

static u32 unused_result(u32 *p)
{
    return (*p)++;
}
//! run discarded block=8 (u32[8]:iota)
kernel void discarded(u32 *a)
{
    unused_result(&a[thread_x()]);
    (void)unused_result(&a[thread_x()]);
    (void)a[thread_x()];
}
