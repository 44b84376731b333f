// an i64 stored into an i32 needs a cast
#include <kiln/kernel.h>

kernel void shrink(const i64 *x, i32 *y)
{
    y[global_x()] = x[global_x()];
}
