// A call through a pointer: the number and the types of its arguments, and what it returns.
#include <kiln/kernel.h>

typedef f32 (*binary)(f32, i32);
typedef void (*action)(void);

static f32 scale(f32 a, i32 b)
{
    return a * (f32)b;
}
static void nothing(void)
{
}

kernel void run(f32 *out)
{
    binary f = scale;
    action a = nothing;
    out[0] = f(1);
    out[1] = f(1, 2, 3);
    out[2] = f(1, 2.5f);
    out[3] = a();
    a(1);
}
