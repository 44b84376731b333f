// a static local variable
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    static i32 calls;
    out[0] = ++calls;
}
