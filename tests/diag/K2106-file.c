// a file-scope table, reported because a kernel uses it
#include <kiln/kernel.h>

static const i32 table[2] = {1, (i32)sqrt(4.0f)};

kernel void run(i32 *out)
{
    out[0] = table[0];
}
