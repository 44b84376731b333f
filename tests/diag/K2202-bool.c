// A bool is 0 or 1, so these are always the same.
#include <kiln/kernel.h>

kernel block(64) void f(i32 *x, bool *b)
{
    x[0] = b[0] == 2;
    x[1] = b[1] < 2;
    x[2] = b[2] > 1;
    x[3] = b[3] <= 1;
}
