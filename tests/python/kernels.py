# kernels.py: the kernels of the tests.
SAXPY = """#include <kiln/kernel.h>

// y[i] = a * x[i] + y[i]
// for every i below n
kernel block(256) void saxpy(f32 *y, const f32 *x, f32 a, u32 n)
{
    u32 i = global_x();
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""
WRONG = """#include <kiln/kernel.h>
kernel block(32) void wrong(f32 *x)
{
    i32 whole = 2.5;
    x[0] = missing;
}
"""
MANY = """#include <kiln/kernel.h>
typedef struct pair { f32 a; i32 b; } pair;
kernel block(32) void numbers(f64 *out, i8 a, u16 b, i64 c, f32 d, f64 e, bool f, bf16 g, f16 h)
{
    if (global_x() == 0) {
        out[0] = (f64)a; out[1] = (f64)b; out[2] = (f64)c; out[3] = (f64)d; out[4] = e; out[5] = f ? 1.0 : 0.0;
        out[6] = (f64)f32(g); out[7] = (f64)f32(h);
    }
}
kernel block(32) void swap(pair *pairs, pair one, u32 n)
{
    u32 i = global_x();
    if (i < n) { pairs[i].a = pairs[i].a + one.a; pairs[i].b = one.b - pairs[i].b; }
}
kernel void flexible(u32 *out, u32 width)
{
    out[global_y() * width + global_x()] = block_dim_x() * 1000u + block_dim_y();
}
"""
CHANGE = """#include <kiln/kernel.h>
kernel block(64) void change(f32 *x, u32 n) {
    if (global_x() < n)
        x[global_x()] = 5.0f;
}
kernel block(64) void fours(f32x4 *x) {
    if (global_x() == 0)
        x[0].y = 5.0f;
}
"""
FREE = """#include <kiln/kernel.h>
kernel void indices(f32 *y, u32 n)
{
    u32 i = global_x();
    if (i < n)
        y[i] = (f32)i;
}
"""
HELLO = """#include <kiln/kernel.h>
kernel block(4) void hello(u32 n) { if (global_x() < n) printf("thread %u\\n", global_x()); }
"""
