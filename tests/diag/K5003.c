// flags: --remarks
// Expect K5003: four neighbouring loads without known alignment: remark that names the assume.
#include <kiln/kernel.h>

kernel block(64) void sum4(const f32 *restrict x, f32 *restrict out)
{
    u64 i = thread_x();
    out[i] = x[4 * i] + x[4 * i + 1] + x[4 * i + 2] + x[4 * i + 3];
}
