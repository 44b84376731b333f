// typeof of a bit-field, and one beside another type; a variable so declared is not reported again.
#include <kiln/kernel.h>

typedef struct piece {
    u32 count : 5, rest;
} piece;

kernel block(64) void f(const piece *p, u32 *x)
{
    typeof(p->count) n = p->count;
    __typeof__(p->rest) int m = n;
    x[1] = typeof() + 1;
    x[0] = m;
}
