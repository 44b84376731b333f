// A shared member: an error, because the declaration bears a mark of ours.
#include <kiln/kernel.h>

struct s {
    shared f32 a;
};

kernel void f(f32 *x, struct s *v)
{
    x[0] = v->a;
}
