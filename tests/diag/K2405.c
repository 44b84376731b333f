// an if that ends in a semicolon
#include <kiln/kernel.h>

kernel void run(i32 n, i32 *out)
{
    if (n > 3);
        out[0] = n;
}
