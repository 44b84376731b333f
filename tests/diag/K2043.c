// a string as a value
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    const char *name = "kiln";
    out[0] = name[0];
}
