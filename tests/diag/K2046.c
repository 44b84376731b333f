// a conversion without an argument
#include <kiln/kernel.h>

kernel void run(i32 n)
{
    printf("%d of %d\n", n);
}
