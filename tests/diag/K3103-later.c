// Every store to a constant table is told, whatever is stored before and between.
#include <kiln/kernel.h>

static const u32 table[4] = {1, 2, 3, 4};

kernel block(4) void f(u32 *out)
{
    out[thread_x()] = 1;
    u32 *p = (u32 *)&table[2];
    *p = 5;
    out[thread_x() + 4] = *p;
    p[1] = 6;
    atomic_add(p, 1);
    out[thread_x()] = table[thread_x()];
}

kernel block(4) void g(u32 *out)
{
    out[thread_x()] = 1;
    atomic_swap((u32 *)table, 1);
}
