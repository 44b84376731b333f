// A 64-bit product stored in a 32-bit variable needs a cast.
#include <kiln/kernel.h>

kernel void mix(i32 *out, i64 wide, u8 narrow)
{
    out[thread_x()] = wide * narrow;
}
