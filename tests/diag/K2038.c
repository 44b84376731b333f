// _Generic has no choice for the type
#include <kiln/kernel.h>

#define SIZE_NAME(x) _Generic((x), f32: 4, f64: 8)

kernel void run(i32 n, i32 *out)
{
    out[0] = SIZE_NAME(n);
}
