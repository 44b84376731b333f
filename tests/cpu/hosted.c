// Calls of the host in every shape, for sums: by lanes and by warps, waiting or not, numbers of all
// sizes, structs, objects that come back, counted bytes, and from a function.
#include <kiln/kernel.h>

typedef struct pair {
    u64 wide;
    u8 narrow;
} pair;

host i32 twice(i32 x);
host per_warp f64 once(f64 x, u16 y);
host no_wait void report(u32 who, f64 value);
host no_wait per_warp void report_once(u8 small, f32 value);
host pair exchange(pair p);
host void fill(f32 *one, u32 *two);
host i64 take(counted(n) const u8 *bytes, i64 n);
host i64 give(counted(n) u32 *words, i64 n);
host i64 both(counted(n) const u8 *from, i64 n, counted(m) u16 *to, i64 m);

kernel block(64) void values(const i32 *x, f64 *out)
{
    u32 t = thread_x();
    out[t] = (f64)twice(x[t]) + once(out[t], (u16)t);
    report(t, out[t]);
    report_once((u8)t, (f32)out[t]);
}

kernel block(8, 4, 2) void objects(pair *p, f32 *out)
{
    u32 t = thread_x() + 8 * thread_y() + 32 * thread_z(), two = t;
    f32 one = out[t];
    p[t] = exchange(p[t]);
    fill(&one, &two);
    out[t] = one + (f32)two;
}

kernel void bytes(u8 *from, u32 *words, u16 *to, i64 *out)
{
    u32 t = global_x();
    out[t] = take(from + t, 17) + give(words + t, (i64)t) + both(from, 8, to, (i64)t);
}

noinline static i32 from_function(i32 x)
{
    return x > 3 ? twice(x) : twice(x + 1);
}

kernel block(32) void by_function(i32 *x)
{
    x[thread_x()] = from_function(x[thread_x()]);
}

// An array inside a struct travels element by element, the first one too.
typedef struct row {
    i32 first;
    f32 values[3];
} row;
host f32 sum_of(row r);

kernel void array_in_struct(f32 *out)
{
    row r = {1, {2.0f, 3.0f, 4.0f}};
    out[global_x()] = sum_of(r);
}
