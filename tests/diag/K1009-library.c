// A prototype of C's malloc with another type, as old programs have it: the header has the body.
#include <stdlib.h>

#include <kiln/kernel.h>

char *malloc();

kernel block(64) void f(i32 *x)
{
    x[0] = malloc(3) != NULL;
}
