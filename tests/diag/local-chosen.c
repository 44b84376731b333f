// flags: --remarks
// A local array stays in memory when its address is chosen: that is told for both.
#include <kiln/kernel.h>

kernel block(32) void chosen(u32 *out, u32 n, u32 m)
{
    u32 a[4] = {1, 2, 3, n}, b[4] = {n, 5, 6, 7};
    u32 *p = m > 3 ? a : b;
    out[thread_x()] = p[1];
}
