// Two variables of one name in one block: an error with both places labelled.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 sum = x[0];
    f32 sum = x[1];
    x[2] = sum;
}
