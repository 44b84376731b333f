// Three functions with a mistake each, called in one expression: all three are reported.
#include <kiln/kernel.h>

static f32 first(f32 x)
{
    return x + missing_one;
}

static f32 second(f32 x)
{
    return x * missing_two;
}

static f32 third(f32 x)
{
    i32 rounded = x;
    return (f32)rounded;
}

kernel block(1) void f(f32 *out)
{
    out[0] = third(second(first(1)), 2);
}
