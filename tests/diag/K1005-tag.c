// A struct used without the word struct: an error with a fix-it.
#include <kiln/kernel.h>

struct pair {
    f32 a, b;
};

kernel void f(f32 *x)
{
    pair p = {1, 2};
    x[0] = p.a;
}
