// The bound of a parameter is not evaluated: one that does something is refused.
#include <kiln/kernel.h>

static i32 count(i32 a, const i32 b[a++])
{
    return a + b[0];
}

static i32 plain(i32 a, const i32 b[a + 1], const i32 c[static 2])
{
    return a + b[0] + c[0];
}

kernel block(1) void f(i32 *out)
{
    i32 e[4] = {0};
    out[0] = count(1, e) + plain(1, e, e);
}
