// A name declared in a loop's body is gone after it.
#include <kiln/kernel.h>

kernel void leak(i32 *out)
{
    for (i32 i = 0; i < 4; i++) {
        i32 last = i;
        out[i] = last;
    }
    out[4] = last;
}
