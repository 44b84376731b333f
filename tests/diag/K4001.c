// more shared memory than any device has
#include <kiln/kernel.h>

kernel block(256) void run(f32 *out)
{
    shared f32 tile[256][256];
    tile[0][thread_x()] = 1;
    barrier();
    out[0] = tile[0][0];
}
