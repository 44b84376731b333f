// A register variable has a value like any other, but no address.
#include <kiln/kernel.h>

static i32 add(register i32 a, register const i32 b)
{
    return a + b;
}

kernel block(1) void f(i32 *out)
{
    register i32 sum = 0;
    for (register i32 i = 0; i < 4; i++)
        sum = add(sum, i);
    i32 *p = &sum;
    out[0] = sum + p[0];
}
