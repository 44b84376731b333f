// a conversion that printf does not know
#include <kiln/kernel.h>

kernel void run(i32 n)
{
    printf("%b\n", n);
}
