// flags: --target cpu
// The target that the note names is the one that has the instruction.
#include <kiln/kernel.h>

kernel block(32) void f(const f16 *x, u32 *out)
{
    shared f16 tile[64];
    u32 words[1];
    tile[thread_x()] = x[thread_x()];
    barrier();
    ldmatrix(words, &tile[thread_x() % 8 * 8]);
    out[thread_x()] = words[0];
}
