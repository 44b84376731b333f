// An alignment that is not a power of two: an error at the number.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    _Alignas(24) f32 a[4] = {1};
    x[0] = a[0];
}
