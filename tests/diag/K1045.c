// Ranges of cases: empty, too long, not constant, and one that holds another label.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n, i32 k)
{
    switch (n) {
    case 3 ... 1: x[0] = 1; break;
    case 10 ... 2000: x[0] = 2; break;
    case 5 ... n: x[0] = 3; break;
    default: x[0] = 2;
    }
    switch (k) {
    case -2 ... 4: x[1] = 1; break;
    case 0: x[1] = 2;
    }
}
