// Names of functions on vectors in other languages: errors with Kiln's names.
#include <kiln/kernel.h>

kernel block(64) void f(f32x3 *x, f32 *out)
{
    f32x3 a = x[0], b = x[1];
    out[0] = dot(a, b) + length(a) + distance(a, b);
    x[2] = normalize(a);
    x[3] = cross(a, b);
}
