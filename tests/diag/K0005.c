// A name with letters outside ASCII: an error at each use; the name still works, so nothing else is reported.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 größe = x[0];
    x[1] = größe;
}
