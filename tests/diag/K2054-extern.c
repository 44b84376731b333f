// An array declared with a bound and defined without one has that bound; it still lives on the host.
#include <kiln/kernel.h>

extern int heights[3];
int heights[] = {1, 2};

kernel block(1) void f(i32 *out)
{
    out[0] = heights[0];
}
