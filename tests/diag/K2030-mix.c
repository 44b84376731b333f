// Pointers to functions and other things: conversions, casts, comparisons, the order of functions.
#include <kiln/kernel.h>

typedef f32 (*unary)(f32);

static f32 square(f32 x)
{
    return x * x;
}
static i32 other(i32 x)
{
    return x;
}

kernel void run(f32 *out, u64 *bits)
{
    void *p = square;
    unary f = (unary)bits;
    unary g = out;
    f = bits[0];
    f = other;
    f = (unary)bits[1];
    if (f < square)
        out[0] = 1;
    if (f == p)
        out[1] = f(1);
    f = f + 1;
    out[2] = f[0];
    out[3] = (f32)sizeof *f;
    f = NULL;
    f = 0;
    f = (unary)0;
    square = f;
}
