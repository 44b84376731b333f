// A function as C was before 1999: its result has no type.
#pragma kiln conversions(c)
#include <kiln/kernel.h>

static third(int a)
{
    return a / 3;
}

kernel block(64) void f(i32 *x)
{
    x[0] = third(9);
}
