// A struct without its semicolon before a kernel: one error with a fix-it.
#include <kiln/kernel.h>

struct pair {
    f32 a, b;
}

kernel void f(struct pair *p)
{
    p->a = p->b;
}
