// Two functions of one name and different types: neither may win in silence.
#include <kiln/kernel.h>

static f32 scale(f32 v)
{
    return v + 0.5f;
}

static i32 scale(i32 v)
{
    return v * 10;
}

kernel block(1) void f(f32 *out)
{
    out[0] = scale(2.25f);
}
