// Conversions and templates of C++.
#include <kiln/kernel.h>

static f32 square(f32 x)
{
    return x * x;
}

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = float(n);
    x[1] = static_cast<float>(n);
    x[2] = *reinterpret_cast<const f32 *>(x);
    x[3] = static_cast<unsigned int>(n);
    x[2] = square<f32>(x[3]);
}
