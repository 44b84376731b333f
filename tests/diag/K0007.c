// An integer with the suffix f: an error with a fix-it that adds the point.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1f;
}
