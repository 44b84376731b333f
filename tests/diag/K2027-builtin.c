// an argument is missing
#include <kiln/kernel.h>

kernel void run(f32 *out)
{
    out[0] = max(2.0f);
}
