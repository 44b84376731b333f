// __VA_OPT__ without dots, without parentheses, with a join at its edge, in another one, defined.
#define A(x)   x __VA_OPT__(1)
#define B(...) __VA_OPT__
#define C(...) __VA_OPT__(1
#define D(...) __VA_OPT__(## x)
#define E(...) __VA_OPT__(__VA_OPT__(x))
#define __VA_OPT__(x) x
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
