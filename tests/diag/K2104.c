// a nested list for a number
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    i32 a = {{1}};
    out[0] = a;
}
