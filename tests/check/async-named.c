// K6228: a named barrier that expects more warps than come.
#include <kiln/kernel.h>

//! run f block=128 (u32[128])
kernel block(128) void f(u32 *out)
{
    shared u32 value;
    if (thread_x() < 64) {
        if (thread_x() == 0)
            value = 7;
        barrier_sync(1, 128);
        out[thread_x()] = value;
    }
}
