// an unknown member, with a near one suggested
#include <kiln/kernel.h>

struct point {
    f32 left, top;
};

kernel void run(const struct point *p, f32 *out)
{
    out[0] = p->lefft;
}
