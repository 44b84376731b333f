// Arguments that '...' does not take, and a call through a pointer.
#include <kiln/kernel.h>

struct pair {
    i32 a, b;
};

static i32 sum(i32 count, ...)
{
    return count;
}

kernel block(1) void f(i32 *out, const f16 *half, struct pair p)
{
    i32 (*through)(i32, ...) = sum;
    out[0] = sum(2, 3, p);
    out[1] = sum(2, half[0]);
    out[2] = through(1, 2);
}
