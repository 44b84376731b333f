// A variable declared with typeof: one error, none about the variable.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    typeof(x[0]) a = 1;
    x[1] = a;
}
