// A kernel and a function of its name; a kernel whose prototype has another block.
#include <kiln/kernel.h>

kernel block(1) void f(i32 *out)
{
    out[0] = 1;
}

static i32 f(i32 x)
{
    return x;
}

kernel block(64) void g(i32 *out);
kernel block(128) void g(i32 *out)
{
    out[0] = 1;
}
