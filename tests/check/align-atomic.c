// K6202: An atomic on a value that is not at a multiple of its size.
#include <kiln/kernel.h>

//! run tick grid=1 block=8 (u32[16])
kernel void tick(u32 *x)
{
    atomic_add((u64 *)(x + 1), (u64)1);
}
