// flags: --check bounds
// Checked accesses: hidden lengths, one comparison each, the fault out of the way; what cannot fail is not checked.
#include <kiln/kernel.h>

kernel block(64) void checked(const f32 *x, f32 *out, u32 shift)
{
    shared f32 tile[64];
    tile[thread_x()] = x[global_x() + shift];
    barrier();
    out[global_x()] = tile[(thread_x() + shift) % 64] + tile[63 - thread_x() / 2 + shift];
}
