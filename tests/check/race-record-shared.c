// K6204: Two threads write the same record of a table.
#include <kiln/kernel.h>

typedef struct pair {
    u32 key, value;
} pair;

//! run fill grid=1 block=8 (u32[8])
kernel void fill(u32 *out)
{
    shared pair table[4];
    u32 t = thread_x();
    table[3 - t / 2].value = t;
    barrier();
    out[t] = table[t / 2].value;
}
