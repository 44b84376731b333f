// A store to a constant table through a cast: an error, not a crash.
#include <kiln/kernel.h>

static const f32 table[4] = {1, 2, 3, 4};

kernel block(4) void f(f32 *out)
{
    u32 *p = (u32 *)&table[2];
    *p = 5;
    out[thread_x()] = table[thread_x()];
}
