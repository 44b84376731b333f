// a segment width that is not a power of two
#include <kiln/kernel.h>

kernel void run(f32 *x)
{
    x[thread_x()] = shuffle_in(x[thread_x()], 0, 12);
}
