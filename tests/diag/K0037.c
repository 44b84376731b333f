// A '#' before something that is no parameter: an error.
#define NAME(a) #b
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
