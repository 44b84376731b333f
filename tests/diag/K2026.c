// a variable is called
#include <kiln/kernel.h>

kernel void run(f32 scale, f32 *out)
{
    out[0] = scale(2.0f);
}
