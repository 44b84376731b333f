// an argument that nothing prints
#include <kiln/kernel.h>

kernel void run(i32 n)
{
    printf("done\n", n);
}
