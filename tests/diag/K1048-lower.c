// _Alignas raises an alignment, and only of variables and members.
#include <kiln/kernel.h>

kernel block(1) void f(i32 *out, _Alignas(16) i32 n)
{
    _Alignas(2) i32 low = 1;
    _Alignas(16) i32 high = 2;
    out[0] = low + high + n;
}
