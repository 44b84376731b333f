// numbers of type long double, however they are written; other suffixes
#include <kiln/kernel.h>

kernel void suffixes(f64 *x)
{
    x[0] = 1.5L;
    x[1] = 1e5l;
    x[2] = 0x1p3L;
    x[3] = 2.q;
    x[4] = 12lul;
    x[5] = 7f;
}
