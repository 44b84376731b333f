// K6201: A histogram with a value that has no bin.
#include <kiln/kernel.h>

//! run count grid=2 block=64 (u32[16], u32[128]:mod17)
kernel void count(u32 *bins, const u32 *x)
{
    atomic_add(&bins[x[global_x()]], 1u);
}
