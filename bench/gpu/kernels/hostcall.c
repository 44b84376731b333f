// Calls of the host as bench/gpu/hostcall.c times them: round trips, rates, lines and bytes.
#include <kiln/io.h>
#include <kiln/kernel.h>

typedef struct wide {
    u32 v[16];
} wide;

host i32 twice(i32 x);
host per_warp i32 twice_once(i32 x);
host u32x4 four(u32x4 x);
host wide sixteen(wide x);
host u32 mix(u32 x);
host i64 take(counted(n) const u8 *bytes, i64 n);
host i64 give(counted(n) u8 *bytes, i64 n);
host per_warp i64 take_once(counted(n) const u8 *bytes, i64 n);
host per_warp i64 give_once(counted(n) u8 *bytes, i64 n);

// Cycles of each of n calls by one warp; cycles and nanoseconds of all of them in `clock`.
#define TRIPS(name, lanes, call, is_right)                                                         \
    kernel block(32) void name(u32 *times, u64 *clock, u32 n)                                      \
    {                                                                                              \
        if (thread_x() >= (lanes))                                                                 \
            return;                                                                                \
        u64 first = clock_cycles(), wall = nano_time();                                            \
        for (u32 k = 0; k < n; k++) {                                                              \
            u64 start = clock_cycles();                                                            \
            call;                                                                                  \
            u32 took = (u32)(clock_cycles() - start);                                              \
            if (thread_x() == 0)                                                                   \
                times[k] = (is_right) ? took : 0;                                                  \
        }                                                                                          \
        if (thread_x() == 0) {                                                                     \
            clock[0] = clock_cycles() - first;                                                     \
            clock[1] = nano_time() - wall;                                                         \
        }                                                                                          \
    }

TRIPS(trip_lane, 1, i32 got = twice((i32)k), got == 2 * (i32)k)
TRIPS(trip_once, 32, i32 got = twice_once((i32)k), got == 2 * (i32)k)
TRIPS(trip_warp, 32, i32 got = twice((i32)(k + thread_x())), got == 2 * (i32)k)
TRIPS(trip_16, 32, u32x4 x; x.x = k; x.y = 1; x.z = 2; x.w = thread_x(); u32x4 got = four(x),
      got.x == k + 1u)

static wide wide_of(u32 k)
{
    wide x;
    for (u32 n = 0; n < 16u; n++)
        x.v[n] = k + n;
    return x;
}
TRIPS(trip_64, 32, wide got = sixteen(wide_of(k)), got.v[0] == k + 1u)

// Cycles of the calls of many warps at once: n of each.
kernel block(32) void load(u32 *times, u32 n)
{
    for (u32 k = 0; k < n; k++) {
        u64 start = clock_cycles();
        i32 got = twice((i32)(k + thread_x()));
        u32 took = (u32)(clock_cycles() - start);
        if (thread_x() == 0)
            times[(i64)block_x() * n + k] = got == 2 * (i32)k ? took : 0;
    }
}

// Calls for so many milliseconds; how many ended in each tenth of a second, and how many wrong.
kernel block(32) void rate(u64 *windows, u32 *wrong, u32 milliseconds, u32 seed)
{
    u64 start = shuffle(nano_time(), 0), end = start + (u64)milliseconds * 1000000;
    u32 i = global_x(), k = 0, bad = 0, calls = 0;
    u64 now = start, next = start + 100000000, window = 0;
    while (now < end) {
        u32 x = seed + i * 2654435761u + k++;
        bad += twice((i32)x) != (i32)(2u * x) ? 1u : 0u;
        calls++;
        now = shuffle(nano_time(), 0);
        if (now >= next || now >= end) {
            u32 all = warp_sum(calls);
            if (lane() == 0)
                atomic_add(&windows[window], (u64)all);
            calls = 0;
            window++;
            next += 100000000;
        }
    }
    if (bad)
        atomic_add(wrong, bad);
}

// n calls of every lane: each answer is checked here, the sum of all arguments on the host.
kernel block(64) void soak(u32 *wrong, u32 n, u32 seed)
{
    u32 i = global_x(), bad = 0;
    for (u32 k = 0; k < n; k++) {
        u32 x = (seed + i * n + k) * 2654435761u;
        x ^= x >> 15;
        bad += mix(x) != (x ^ x << 7) * 2246822519u ? 1u : 0u;
    }
    if (bad)
        atomic_add(wrong, bad);
}

kernel block(32) void clocks(u32 *wrong, u32 n)
{
    i64 last = 0;
    u32 bad = 0;
    for (u32 k = 0; k < n; k++) {
        i64 now = io_clock(IO_STEADY_CLOCK);
        bad += now < last || now <= 0 ? 1u : 0u;
        last = now;
    }
    if (bad)
        atomic_add(wrong, bad);
}

// Each lane n reads of 64 bytes, or one lane for all of its warp.
kernel block(32) void reads(const char *path, u32 *wrong, u32 n, u32 is_one)
{
    i32 file = 0;
    u32 bad = 0;
    if (thread_x() == 0)
        file = io_open(path, IO_READ_ONLY, 0);
    file = shuffle(file, 0);
    u8 bytes[64];
    u8 all[2048];
    for (u32 k = 0; k < n; k++) {
        u64 place = ((u64)block_x() * n + k) % 512u * 2048u;
        if (is_one && thread_x() == 0) {
            bad += io_pread(file, all, 2048, (i64)place) != 2048 ? 1u : 0u;
            bad += all[100] != (u8)((place + 100u) * 7u >> 3) ? 1u : 0u;
        }
        if (!is_one) {
            place += 64u * thread_x();
            bad += io_pread(file, bytes, 64, (i64)place) != 64 ? 1u : 0u;
            bad += bytes[5] != (u8)((place + 5u) * 7u >> 3) ? 1u : 0u;
        }
    }
    if (thread_x() == 0)
        io_close(file);
    if (bad)
        atomic_add(wrong, bad);
}

kernel block(64) void lines(u32 n)
{
    for (u32 k = 0; k < n; k++)
        printf("i=%u f=%f\n", global_x(), (f64)k * 0.5);
}

// Bytes of one thread's object to the host, or from it; nanoseconds of each call.
kernel block(1) void bulk(u8 *bytes, i64 size, u32 n, u32 is_in, u64 *times, u32 *wrong)
{
    for (u32 k = 0; k < n; k++) {
        u64 start = nano_time();
        i64 got = is_in ? give(bytes, size) : take(bytes, size);
        times[k] = nano_time() - start;
        if (got != size)
            atomic_add(wrong, 1u);
    }
}

// The same with one call of a warp.
kernel block(32) void bulk_once(u8 *bytes, i64 size, u32 n, u32 is_in, u64 *times, u32 *wrong)
{
    for (u32 k = 0; k < n; k++) {
        u64 start = nano_time();
        i64 got = is_in ? give_once(bytes, size) : take_once(bytes, size);
        if (thread_x() == 0)
            times[k] = nano_time() - start;
        if (got != size)
            atomic_add(wrong, 1u);
    }
}

// The same of many callers: each has an object of its own.
kernel block(1) void bulks(u8 *bytes, i64 size, u32 n, u32 is_in, u32 *wrong)
{
    u8 *mine = bytes + (i64)block_x() * size;
    for (u32 k = 0; k < n; k++) {
        i64 got = is_in ? give(mine, size) : take(mine, size);
        if (got != size)
            atomic_add(wrong, 1u);
    }
}

// Silent for so many milliseconds, then one call; its nanoseconds.
kernel block(32) void silent(u64 *times, u32 milliseconds, u32 n)
{
    if (thread_x() != 0)
        return;
    for (u32 k = 0; k < n; k++) {
        u64 start = nano_time();
        while (nano_time() - start < (u64)milliseconds * 1000000)
            ;
        start = nano_time();
        i32 got = twice((i32)k);
        times[k] = got == 2 * (i32)k ? nano_time() - start : 0;
    }
}

// The same with a line that is never printed.
kernel block(256) void add_or_say(const f32 *a, const f32 *b, f32 *to, u32 n)
{
    u32 i = global_x();
    if (i < n)
        to[i] = a[i] + b[i];
    if (n == 3u)
        printf("%u\n", i);
}

kernel block(256) void add(const f32 *a, const f32 *b, f32 *to, u32 n)
{
    u32 i = global_x();
    if (i < n)
        to[i] = a[i] + b[i];
}
