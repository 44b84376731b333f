// a variable of a struct that is only declared
#include <kiln/kernel.h>

struct state;

kernel void run(i32 *out)
{
    struct state s;
    out[0] = 1;
}
