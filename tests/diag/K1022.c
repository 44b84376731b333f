// A case label in no switch: an error.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    case 1:
        x[0] = 1;
}
