// flags: --target sm_75
// An asynchronous copy on a target that has none: an error that names the first target with it.
#include <kiln/kernel.h>

kernel block(32) void f(u32 *x)
{
    shared u32 tile[32];
    u32 i = thread_x();
    async_copy_4(&tile[i], &x[i]);
    async_commit();
    async_wait(0);
    x[i] = tile[i] + 1;
}
