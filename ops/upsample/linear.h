// What the kernels of linear interpolation share: linear.c and twice.c. An output lies between two
// inputs along each axis that is interpolated along.
#include <kiln/pack.h>

#ifndef T
#    define T f32
#endif
tune(AXES, 2, 1, 3);
tune(CORNERS, 0, 1);
tune(RANK, 4, 1, 2, 3, 5, 6, 7, 8);
tune(LONG, 0, 1);
#define NEST_RANK RANK
#define NEST_LONG LONG
#include <kiln/nest.h>
#include <kiln/turns.h>
KERNEL_OVERLAPS
enum { READ, WRITTEN, FIRST, THREADS = 256 }; // FIRST: the indices along the axes
#define N pack_number(T)

struct axis {
    u64 in, out;
    i64 stride; // of the tensor that is read
    f64 scale;  // inputs per output
};
struct axes {
    struct axis a[3];
};

// The input before output i, and the share of the one after it.
static u64 input_of(const struct axis *a, u64 i, f64 *share)
{
    f64 number = LONG ? (f64)i : (f64)(u32)i; // conversions of 32 bits take half the time
    f64 at = CORNERS ? number * a->scale : (number + 0.5) * a->scale - 0.5;
    at = at < 0.0 ? 0.0 : at;
    u64 low = LONG ? (u64)at : (u64)(u32)at;
    low = low > a->in - 1 ? a->in - 1 : low;
    *share = low == a->in - 1 ? 0.0 : at - (LONG ? (f64)low : (f64)(u32)low);
    return low;
}
