// an atomic on memory declared const, both ends shown
#include <kiln/kernel.h>

kernel void run(const u32 *counts)
{
    atomic_add(&counts[0], 1);
}
