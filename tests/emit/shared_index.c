// Offsets in shared memory from 64-bit arithmetic: sums and products need only the low half, a quotient or a shift to the right needs the whole.
#include <kiln/kernel.h>

kernel block(64) void indices(const u64 *a, u32 *out)
{
    shared u32 s[64];
    u32 i = thread_x();
    s[i] = i;
    barrier();
    out[i] = s[(a[i] >> 7) & 63];
    out[i + 64] = s[a[i] / 3 % 64];
    out[i + 128] = s[(a[i] + 5) * 3 & 63];
    out[i + 192] = s[a[i] + a[i + 64]];
}
