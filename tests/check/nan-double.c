// flags: --nan
// K6209: A NaN in double precision.
#include <kiln/kernel.h>

//! run deep grid=1 block=32 (f64[32]:iota)
kernel void deep(f64 *x)
{
    f64 big = x[thread_x()] * 1e308;
    x[thread_x()] = big * 10 - big * 10;
}
