// K6201: One struct too far.
#include <kiln/kernel.h>

//! run move grid=1 block=32 (point[31]:iota@f32)
typedef struct point {
    f32 x, y, z;
} point;

kernel void move(point *p)
{
    p[thread_x()].y += 1;
}
