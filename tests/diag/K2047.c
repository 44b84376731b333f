// %d with a float; the fix changes the letter
#include <kiln/kernel.h>

kernel void run(f32 x)
{
    printf("x = %d\n", x);
}
