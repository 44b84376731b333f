// f16 has no operators
#include <kiln/kernel.h>

kernel void add(const f16 *a, const f16 *b, f32 *c)
{
    c[global_x()] = a[global_x()] + f32(b[global_x()]);
}
