// A typedef declares a function, but cannot define one: its parameters have no names.
#include <kiln/kernel.h>

typedef f32 unary(f32 x);
typedef void entry(f32 *x);
static unary twice;
static f32 twice(f32 x)
{
    return 2 * x;
}

kernel block(1) entry f
{
}

kernel block(1) void g(f32 *x)
{
    x[0] = twice(x[1]);
}
