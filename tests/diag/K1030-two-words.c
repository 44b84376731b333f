// Words of C's types that do not go together: errors.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x)
{
    void float a = 1;
    bool int b = 2;
    short float c = 3;
    signed double d = 4;
    char long e = 5;
    unsigned signed g = 6;
    x[0] = 1;
}
