// A kernel that ends its parameters with '...'.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, ...)
{
    x[0] = 1.0f;
}
