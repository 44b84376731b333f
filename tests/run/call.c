// Calls that stay calls: recursion alone, in pairs and through pointers, functions marked noinline,
// tables of functions, under divergence, with records, narrow types and the caller's arrays.
#include <kiln/kernel.h>

static u32 fib(u32 n)
{
    return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

//! run call_fib block=64 (u32[64])
kernel void call_fib(u32 *out)
{
    out[thread_x()] = fib(thread_x() % 13);
}

static bool is_odd(u32 n);
static bool is_even(u32 n)
{
    return n == 0 || is_odd(n - 1);
}
static bool is_odd(u32 n)
{
    return n != 0 && is_even(n - 1);
}

//! run call_pair block=40 (u8[40], u32[40])
kernel void call_pair(u8 *out, u32 *count)
{
    u32 i = thread_x();
    out[i] = (u8)is_even(i);
    if (i % 3 == 0)
        count[i] = is_odd(i) ? 7 : 9;
}

// The caller's array, changed on the way down and on the way up.
static void reverse(i32 *a, i32 lo, i32 hi)
{
    if (lo >= hi)
        return;
    i32 t = a[lo];
    a[lo] = a[hi];
    a[hi] = t;
    reverse(a, lo + 1, hi - 1);
    a[lo] += lo * 1000;
}

//! run call_local_array block=32 (i32[256])
kernel void call_local_array(i32 *out)
{
    i32 mine[8];
    for (i32 i = 0; i < 8; i++)
        mine[i] = (i32)thread_x() * 10 + i;
    reverse(mine, 0, (i32)(thread_x() % 8));
    for (i32 i = 0; i < 8; i++)
        out[8 * (i32)thread_x() + i] = mine[i];
}

// Each call has an array of its own, which its callee writes.
static u32 path(u32 depth, u32 *above)
{
    u32 own[4] = {depth, depth * 3, 1, 2};
    above[depth & 3] += depth + 1;
    if (depth)
        own[2] += path(depth - 1, own);
    return own[0] + own[1] * 5 + own[2] * 7 + own[3];
}

//! run call_frames block=48 (u32[48])
kernel void call_frames(u32 *out)
{
    u32 top[4] = {0};
    u32 sum = path(thread_x() % 9, top);
    out[thread_x()] = sum + top[0] + top[1] + top[2] + top[3];
}

static void quicksort(i32 *a, i32 n)
{
    while (n > 1) {
        i32 pivot = a[n / 2], i = 0, j = n - 1;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (a[j] > pivot)
                j--;
            if (i <= j) {
                i32 t = a[i];
                a[i++] = a[j];
                a[j--] = t;
            }
        }
        quicksort(a, j + 1);
        a += i;
        n -= i;
    }
}

//! run call_quicksort block=16 (i32[512]:sym99)
kernel void call_quicksort(i32 *data)
{
    quicksort(data + 32 * thread_x(), 32 - (i32)(thread_x() % 5));
}

static recursion(700) u32 ackermann(u32 m, u32 n)
{
    if (m == 0)
        return n + 1;
    if (n == 0)
        return ackermann(m - 1, 1);
    return ackermann(m - 1, ackermann(m, n - 1));
}

//! run call_ackermann block=12 (u32[12])
kernel void call_ackermann(u32 *out)
{
    out[thread_x()] = ackermann(thread_x() % 3, thread_x());
}

// --- noinline
static noinline u8 narrow(u8 a, i16 b, bool c)
{
    return (u8)(a * 3 + b + c);
}
static noinline bool truth(f32 x)
{
    return x > 0.25f;
}
static noinline f64 wide(f64 x, i64 n)
{
    return x * 0.5 + (f64)n;
}
static noinline void nothing(void)
{
}

//! run call_types block=32 (i32[32]:sym99, f32[32]:rand, f64[32])
kernel void call_types(i32 *io, const f32 *x, f64 *out)
{
    u32 i = thread_x();
    nothing();
    io[i] = narrow((u8)io[i], (i16)(io[i] * 3), i & 1) + (truth(x[i]) ? 1000 : 0);
    out[i] = wide((f64)x[i], (i64)i << 33);
}

typedef struct pair {
    f32 a;
    i32 b;
} pair;
typedef struct tree {
    pair left, right;
    u32 depth;
} tree;

static noinline pair swap(pair p, f32 by)
{
    pair q = {(f32)p.b * by, (i32)p.a};
    p.a = 0; // its own copy
    return q;
}
static tree grow(tree t)
{
    if (t.depth == 0)
        return t;
    t.depth--;
    t.left = swap(t.right, 2.0f);
    t.right.b += (i32)t.depth;
    tree u = grow(t);
    u.left.b += t.left.b;
    return u;
}

//! run call_records block=20 (f32[20], i32[40])
kernel void call_records(f32 *a, i32 *b)
{
    u32 i = thread_x();
    tree t = {{1.0f, 2}, {(f32)i, 3}, i % 7};
    pair p = swap(t.right, 0.5f);
    tree u = grow(t);
    a[i] = u.left.a + u.right.a + p.a + t.right.a;
    b[2 * i] = u.left.b + u.right.b * 100 + p.b;
    b[2 * i + 1] = (i32)u.depth + t.left.b;
}

// Stores that a call must see, and loads that must see what a call stored.
static noinline void add_to(i32 *at, i32 v)
{
    *at += v;
}
static noinline i32 peek(const i32 *at)
{
    return *at * 2;
}

//! run call_memory block=32 (i32[32], i32[32])
kernel void call_memory(i32 *a, i32 *b)
{
    u32 i = thread_x();
    i32 here = 5, other = 6;
    a[i] = 1;
    add_to(&a[i], 10);
    i32 first = a[i];
    add_to(&here, first);
    a[i] = here;
    i32 second = peek(&a[i]);
    for (i32 k = 0; k < 4; k++) {
        add_to(&other, here);
        here += peek(&other) & 15;
    }
    if (i & 1)
        add_to(&other, 100);
    else
        add_to(&here, 200);
    b[i] = second + here * 3 + other * 5;
}

// --- pointers
typedef i32 (*binary)(i32, i32);
static i32 add(i32 a, i32 b)
{
    return a + b;
}
static i32 power(i32 a, i32 b)
{
    return b <= 0 ? 1 : a * power(a, b - 1);
}
static const binary some[4] = {add, power, NULL, power};

//! run call_power block=64 (i32[64])
kernel void call_power(i32 *out)
{
    binary f = some[thread_x() % 4];
    out[thread_x()] = f ? f((i32)thread_x() % 7 - 3, (i32)thread_x() % 9) : -1;
}

// A visitor: recursion through a pointer.
typedef void (*visit)(i32 *sum, i32 value);
static void count_all(i32 *sum, i32 value)
{
    *sum += 1 + value * 0;
}
static void add_all(i32 *sum, i32 value)
{
    *sum += value;
}
static void walk(i32 from, i32 to, visit f, i32 *sum)
{
    if (from >= to)
        return;
    i32 middle = from + (to - from) / 2;
    walk(from, middle, f, sum);
    f(sum, middle);
    walk(middle + 1, to, f, sum);
}

//! run call_visitor block=24 (i32[24])
kernel void call_visitor(i32 *out)
{
    i32 sum = 0;
    walk(0, (i32)thread_x() * 2, thread_x() & 1 ? count_all : add_all, &sum);
    out[thread_x()] = sum;
}

typedef u32 (*step)(u32 n);
static u32 down(u32 n);
static u32 jump(u32 n);
static const step steps[2] = {down, jump};
static u32 down(u32 n)
{
    return n == 0 ? 1 : steps[n & 1](n - 1) + 1;
}
static u32 jump(u32 n)
{
    return n < 2 ? 10 : steps[n % 3 == 0](n - 2) * 3;
}

//! run call_through_table block=32 (u32[32])
kernel void call_through_table(u32 *out)
{
    out[thread_x()] = steps[thread_x() % 2](thread_x());
}

// In loops and branches: lanes leave at different depths.
static u32 collatz(u32 n, u32 steps_left)
{
    if (n == 1 || !steps_left)
        return 0;
    for (u32 k = 0; k < 3; k++) {
        if (n % 2 == k)
            continue;
        if (k == 2)
            return collatz(n % 2 ? 3 * n + 1 : n / 2, steps_left - 1) + 1;
    }
    return 1000;
}

//! run call_divergent block=96 (u32[96])
kernel void call_divergent(u32 *out)
{
    u32 i = thread_x(), sum = 0;
    for (u32 k = 1; k < i % 4 + 2; k++) {
        if ((i + k) % 5 == 0)
            continue;
        sum += collatz(i + k, 60) * k;
        if (sum > 150)
            break;
    }
    out[i] = sum;
}

// A shared array is passed as a pointer.
static u32 sum_of(const u32 *a, u32 n)
{
    return n == 0 ? 0 : n == 1 ? a[0] : sum_of(a, n / 2) + sum_of(a + n / 2, n - n / 2);
}

//! run call_shared block=64 (u32[64])
kernel block(64) void call_shared(u32 *out)
{
    shared u32 all[64];
    all[thread_x()] = thread_x() * thread_x();
    barrier();
    out[thread_x()] = sum_of(all, thread_x() + 1);
}

static void count_up(u32 *at, u32 n)
{
    if (n == 0)
        return;
    atomic_add(at, n);
    count_up(at, n - 1);
}

//! run call_atomic grid=3 block=32 (u32[4])
kernel void call_atomic(u32 *out)
{
    count_up(&out[thread_x() % 4], block_x() + 2);
}

// The second array of a function wants more than the first one, in each of its frames.
static u32 aligned_frames(u32 depth)
{
    u8 few[3] = {(u8)depth, 2, 3};
    _Alignas(64) u32 many[5] = {depth, 1, 2, 3, 4};
    u32 below = depth ? aligned_frames(depth - 1) : 0;
    return below * 64 + (u32)((u64)(many + few[1] - 2) & 63) + many[depth % 5] + few[depth % 3];
}

//! run frames_are_aligned grid=1 block=32 (u32[32])
kernel block(32) void frames_are_aligned(u32 *out)
{
    out[thread_x()] = aligned_frames(thread_x() % 4);
}
