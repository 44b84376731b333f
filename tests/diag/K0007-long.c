// A long double and a made-up suffix: two errors, the first with a fix-it.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f64 a = 1.5L;
    u32 b = 10u32;
    x[0] = (f32)a;
    x[1] = b ? 1.0f : 2.0f;
}
