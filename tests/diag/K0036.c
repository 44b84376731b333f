// A macro call without its closing parenthesis: an error that shows the call and the definition.
#define TWICE(a) ((a) + (a))
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = TWICE(x[1];
}
