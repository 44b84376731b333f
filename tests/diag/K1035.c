// A prototype without a body, called from a kernel: an error at the call with the prototype labelled.
#include <kiln/kernel.h>

f32 elsewhere(f32 v);

kernel block(64) void f(f32 *x)
{
    x[0] = elsewhere(x[1]);
}
