// flags: --target cpu
// A kernel with instructions that only NVIDIA's hardware and the interpreter have.
#include <kiln/kernel.h>

kernel block(64) void f(const f32 *x, f32 *out)
{
    shared f32 tile[64];
    async_copy_4(&tile[thread_x()], x + thread_x());
    async_commit();
    async_wait(0);
    barrier();
    out[thread_x()] = tile[63 - thread_x()];
}
