// A static parameter: an error at the word.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, static f32 v)
{
    x[0] = v;
}
