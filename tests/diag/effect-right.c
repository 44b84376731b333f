// Only what has an effect nowhere is of no use: on the right, in the middle and at the end of ?: counts, too.
#include <kiln/kernel.h>

kernel void effects(i32 *x, i32 n)
{
    i32 a = n, b = n;
    a + (b = 2);
    n ? a++ : b;
    n ? a : b++;
    a + b;
    n ? a : b;
    x[0] = a + b;
}
