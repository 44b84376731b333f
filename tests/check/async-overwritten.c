// K6226: an mbarrier that shares its memory with data.
#include <kiln/kernel.h>

//! run f block=64 (u32[64])
kernel block(64) void f(u32 *out)
{
    shared u64 memory[64];
    mbarrier *done = &memory[7];
    if (thread_x() == 0)
        mbarrier_init(done, 64);
    barrier();
    memory[thread_x()] = thread_x();
    barrier();
    mbarrier_arrive(done);
    mbarrier_wait(done, 0);
    out[thread_x()] = (u32)memory[63 - thread_x()];
}
