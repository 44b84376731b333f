// A struct with a member that is wrong: one error, not another for each variable of it.
#include <kiln/kernel.h>

typedef struct {
    nothing_t *first;
    u32 count;
} list;

kernel void f(i32 *x)
{
    list l = {0}, *p = &l;
    x[0] = (i32)l.count + (i32)p->count;
}
