// abs of an unsigned number is an error.
#include <kiln/kernel.h>

kernel void magnitude(u32 *a)
{
    a[thread_x()] = abs(a[thread_x()]);
}
