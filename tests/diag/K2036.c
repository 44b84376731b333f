// the members of a struct that is only declared
#include <kiln/kernel.h>

struct node;

kernel void run(const struct node *n, f32 *out)
{
    out[0] = n->value;
}
