// an atomic needs a pointer
#include <kiln/kernel.h>

kernel void run(u32 *counts)
{
    atomic_add(counts[0], 1);
}
