// _Pragma without a string: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    _Pragma
    for (u32 i = 0; i < 4; i++)
        x[i] = 1;
}
