// All that a macro expands to is wrong: the fix is made at its use.
#include <kiln/kernel.h>

#define HALF     0.5f
#define SUM(a, b) a + b

kernel block(64) void k(i32 *out, f32 y)
{
    out[0] = HALF;
    out[1] = HALF;
    out[2] = SUM(y, HALF);
    out[3] = SUM(y, y);
}
