// a float has no bits to combine
#include <kiln/kernel.h>

kernel void mask(f32 *a)
{
    a[0] = a[1] & 3;
}
