// a builtin without its parentheses
#include <kiln/kernel.h>

kernel void run(u32 *out)
{
    out[global_x()] = lane;
}
