// Two choices for one type; char and signed char, long and long long are different types in C.
#include <kiln/kernel.h>

#define KIND(x) _Generic((x), f32: 1, char: 2, signed char: 3, long: 4, long long: 5, float: 6)

kernel block(1) void f(f32 *x, i32 *out)
{
    out[0] = KIND(x[0]);
}
