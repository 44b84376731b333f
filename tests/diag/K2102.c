// a designator of a member that does not exist
#include <kiln/kernel.h>

struct point {
    f32 x, y;
};

kernel void run(f32 *out)
{
    struct point p = {.x = 1, .z = 2};
    out[0] = p.x;
}
