// flags: -Dat=oops -Dcount=3 -Dsink=(
// Macros of the command line that the headers of C do not see, and a name that such a header uses
// and the program declares later: no error.
#include <stdio.h>
#include <stdlib.h>

#include <kiln/kernel.h>

enum { false, true };
typedef struct u64 {
    i32 parts[count];
} u64;

static i32 min(i32 x)
{
    return x + true + false;
}

kernel void k(i32 *x, char *text)
{
    i32 *own = malloc(sizeof(u64));
    if (!own)
        return;
    own[0] = snprintf(text, 10, "%d %s", x[0], text);
    x[1] = own[0] + min(x[2]) + atoi(text);
    free(own);
}
