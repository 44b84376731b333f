// Constant && and ||: the side that decides.
#include <kiln/kernel.h>

_Static_assert(0 || 1, "the right one");
_Static_assert(!(0 || 0), "neither");
_Static_assert(1 && 2, "both");
_Static_assert(!(1 && 0), "not the right one");
_Static_assert(0 || 0, "this one fails");
_Static_assert(1 && 0, "this one fails, too");

kernel block(64) void f(i32 *x)
{
    x[0] = 1;
}
