// a computed value has no address
#include <kiln/kernel.h>

static void bump(i32 *x)
{
    *x += 1;
}

kernel void run(i32 a, i32 *out)
{
    bump(&(a + 1));
    out[0] = a;
}
