// a pointer to u32 is not a pointer to f32
#include <kiln/kernel.h>

kernel void reinterpret(u32 *words)
{
    f32 *x = words;
    x[global_x()] = 1;
}
