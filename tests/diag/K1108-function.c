// Marks of device functions where they mean nothing, twice, and out of range.
#include <kiln/kernel.h>

static noinline recursion(0) f32 half(f32 x)
{
    return x * 0.5f;
}
static noinline noinline f32 third(f32 x)
{
    return x / 3;
}
static noinline const f32 table[2] = {1, 2};

kernel noinline block(64) void f(f32 *x)
{
    x[0] = half(third(table[1]));
}
