// a local array of four megabytes
#include <kiln/kernel.h>

kernel void run(f32 *out)
{
    f32 table[1048576];
    table[0] = 1;
    out[0] = table[0];
}
