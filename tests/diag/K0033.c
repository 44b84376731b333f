// Malformed parameter lists: an error for each.
#define A(a, a) a
#define B(..., b) b
#define C(a b) a
#define D(a,
#define E(1) 1
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
