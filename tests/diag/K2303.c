// a shared array with an initialiser
#include <kiln/kernel.h>

kernel block(64) void run(f32 *out)
{
    shared f32 tile[64] = {0};
    out[global_x()] = tile[thread_x()];
}
