// const is dropped
#include <kiln/kernel.h>

static void clear(f32 *x)
{
    x[0] = 0;
}

kernel void run(const f32 *x)
{
    clear(x);
}
