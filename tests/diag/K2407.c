// Under C's rules the missing return is a warning. What does not come back needs none.
#include <stdlib.h>

#include <kiln/kernel.h>
#pragma kiln conversions(c)

_Noreturn static void stop(i32 x)
{
    exit(x);
}

static void leave(i32 x) __attribute__((noreturn));
static void leave(i32 x)
{
    stop(x + 1);
}

static i32 sign(i32 x)
{
    if (x > 0)
        return 1;
    if (x < 0)
        return -1;
}

static i32 positive(i32 x)
{
    if (x > 0)
        return x;
    if (x < -10)
        leave(x);
    else
        abort();
}

static i32 known(i32 x)
{
    switch (x) {
    case 1: return 5;
    default: stop(x); return 0;
    }
}

kernel void run(i32 *x)
{
    x[0] = sign(x[0]) + positive(x[1]) + known(x[2]);
}
