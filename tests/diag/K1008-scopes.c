// Redeclarations inside a function: a parameter, a variable, a prototype over a variable.
#include <kiln/kernel.h>

kernel block(1) void f(i32 *out, i32 n)
{
    i32 n = 2;
    i32 a = 1;
    f32 a = 2;
    i32 g;
    f32 g(f32);
    typedef i32 word;
    typedef f32 word;
    out[0] = n;
}
