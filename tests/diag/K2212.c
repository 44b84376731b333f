// constants that leave their type: one warning where the first step does
#include <kiln/kernel.h>

enum { ROWS = 100000 };

kernel void run(i64 *x, u32 *hash)
{
    x[0] = 64 * 1024 * 1024 * 1024;
    x[1] = ROWS * ROWS;
    x[2] = 2147483647 + 1;
    x[3] = -2147483647 - 2;
    x[4] = 0x7fffffffffffffff + 1;
    x[5] = (i64)ROWS * ROWS - 2147483647 - 1; // fine
    hash[0] = 0x9e3779b9u * 3u;               // meant
    hash[1] = sizeof(int[2]) > 1 ? 7 : 0;
}
