// A call with more arguments than the fixed ones: the mistake is the function, not the call.
#include <kiln/kernel.h>

static i32 sum(i32 count, ...)
{
    return count;
}

kernel block(1) void f(i32 *out)
{
    out[0] = sum(2, 3, 4);
}
