// A misspelt type: an error with the nearest type name as a fix-it, and no error about the variable.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    flot a = 1;
    x[0] = a;
}
