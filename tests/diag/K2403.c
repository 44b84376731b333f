// a statement after return
#include <kiln/kernel.h>

kernel void run(i32 *out)
{
    return;
    out[0] = 1;
}
