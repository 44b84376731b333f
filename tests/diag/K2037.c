// sizeof of void
#include <kiln/kernel.h>

kernel void run(u64 *out)
{
    out[0] = sizeof(void);
}
