// a dot on a pointer
#include <kiln/kernel.h>

struct point {
    f32 x, y;
};

kernel void run(const struct point *p, f32 *out)
{
    out[0] = p.x;
}
