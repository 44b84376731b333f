// a kernel parameter of a struct that is not defined
#include <kiln/kernel.h>

struct options;

kernel void run(struct options o, i32 *out)
{
    out[0] = 1;
}
