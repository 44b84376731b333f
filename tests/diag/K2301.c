// a variable of type void
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    void x;
    out[0] = 1;
}
