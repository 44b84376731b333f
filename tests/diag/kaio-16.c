// A literal beyond its variable's range is an error.
#include <kiln/kernel.h>

kernel void literals(u8 *a, i32 *b)
{
    a[0] = 300;
    b[0] = 5000000000;
}
