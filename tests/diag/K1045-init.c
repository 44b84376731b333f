// A range of indices in an initialiser: one error, and the array still has its length.
#include <kiln/kernel.h>

kernel block(64) void f(i32 *x)
{
    i32 some[] = {[0 ... 2] = 5, 7};
    _Static_assert(sizeof some == 16, "0 to 3");
    x[0] = some[x[1] & 3];
}
