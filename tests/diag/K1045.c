// A range of cases: an error at the dots.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    switch (n) {
    case 1 ... 3: x[0] = 1; break;
    default: x[0] = 2;
    }
}
