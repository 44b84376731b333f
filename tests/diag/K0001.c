// A comment that is never closed: the error points at its opening, the lost brace is reported too.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1; /* the first one
}
