// K6204: A sorting network without a barrier in its inner loop.
#include <kiln/kernel.h>

//! run sort grid=1 block=64 (u32[64]:bits)
kernel void sort(u32 *x)
{
    shared u32 s[64];
    u32 t = thread_x();
    s[t] = x[t];
    barrier();
    for (u32 k = 2; k <= 64; k *= 2) {
        for (u32 j = k / 2; j > 0; j /= 2) {
            u32 other = t ^ j;
            if (other > t && (s[t] > s[other]) == ((t & k) == 0)) {
                u32 swap = s[t];
                s[t] = s[other];
                s[other] = swap;
            }
        }
        barrier();
    }
    x[t] = s[t];
}
