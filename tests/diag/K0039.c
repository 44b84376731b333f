// '##' between a bracket and a name: an error that shows the use and the definition.
#define CALL(name) fabs(##name)
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = CALL(1.0f);
}
