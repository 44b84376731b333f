// %u with a 64-bit integer
#include <kiln/kernel.h>

kernel void run(u64 x)
{
    printf("x = %u\n", x);
}
