// The right side of && and || counts where the left does not decide.
#include <kiln/kernel.h>

kernel block(32) void f(i32 *x, i32 n)
{
    _Static_assert(1 && n, "");
    _Static_assert(0 || n, "");
    i32 a[1 && n];
    switch (x[0]) {
    case 0 || n: x[1] = 1; break;
    }
    _Static_assert(1 || n, "");
    enum { E = 1 && sizeof(i32) };
    x[2] = E;
}
