// A constant count out of range under each rule for shifts.
#include <kiln/cuda.h>

__global__ void clamped(unsigned *x)
{
    x[0] = x[0] << 32;
    _Static_assert((1u << 33) == 0, "shifted out");
    _Static_assert(-8 >> 40 == -1, "the sign stays");
}

#pragma kiln shifts(wrap)
__global__ void wrapped(unsigned *x)
{
    x[0] = x[0] << 32;
    _Static_assert(1u << 33 == 2, "modulo 32");
}
