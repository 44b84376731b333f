// Assignments with an operation that their types do not have; each says which.
#include <kiln/kernel.h>

kernel void compound(f32 *x, i32 *n, i32 **p, u8 *b)
{
    x[0] %= 2.5f;
    n[0] %= 2.5f;
    x[1] <<= 1;
    x[2] >>= 2;
    x[3] &= 3;
    n[1] |= 1.5f;
    x[4] ^= 1;
    n[2] += 1.5;
    b[0] += n[0];
    n[3] *= x[0];
    p[0] *= 2;
    p[0] &= 1;
}
