// A comment that is never closed: the error points at its opening; nothing else is said.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1; /* the first one
}
