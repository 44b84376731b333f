// K6203: One member of a struct is forgotten.
#include <kiln/kernel.h>

//! run make grid=1 block=32 (f32[32])
typedef struct box {
    f32 low, high, weight;
} box;

f32 size_of(box b)
{
    return (b.high - b.low) * b.weight;
}

kernel void make(f32 *x)
{
    box b;
    b.low = x[thread_x()];
    b.high = b.low + 1;
    x[thread_x()] = size_of(b);
}
