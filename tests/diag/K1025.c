// A variable of an _Atomic type: an error that names the builtins.
#include <kiln/kernel.h>

kernel block(64) void f(u32 *c, u32 n)
{
    _Atomic u32 *count = c;
    *count += n;
}
