// Ranges of indices in an initialiser: empty, too long, outside, and with values that do something.
#include <kiln/kernel.h>

static i32 next(i32 *x)
{
    return ++*x;
}

kernel block(64) void f(i32 *x)
{
    i32 none[4] = {[2 ... 1] = 5}, many[] = {[0 ... 65536] = 1}, outside[3] = {[1 ... 3] = 7};
    i32 called[4] = {[0 ... 3] = next(x)}, set[2][2] = {[0 ... 1] = {x[0]++, 1}};
    i32 some[] = {[0 ... 2] = x[0], 7};
    _Static_assert(sizeof some == 16, "0 to 3");
    x[0] = none[0] + many[0] + outside[0] + called[0] + set[1][0] + some[x[1] & 3];
}
