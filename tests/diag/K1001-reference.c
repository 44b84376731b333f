// Parameters of C++.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, const f32 &a, u32 n)
{
    x[thread_x()] = a;
}

kernel block(64) void g(f32 *x, u32 n = 5)
{
    x[thread_x()] = 1;
}
