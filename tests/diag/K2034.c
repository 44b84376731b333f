// a void function gives no value
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    out[0] = barrier();
}

kernel void print(i32 *out)
{
    out[0] = printf("%d\n", out[1]);
}
