// A shuffle's segment width must be a constant power of two up to 32.
#include <kiln/kernel.h>

kernel void segments(i32 *a)
{
    a[thread_x()] = shuffle_down_in(a[thread_x()], 1, 12);
}
