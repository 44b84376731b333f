// two pointers of different types compared
#include <kiln/kernel.h>

kernel void run(f32 *a, i32 *b, i32 *out)
{
    out[0] = a == b;
}
