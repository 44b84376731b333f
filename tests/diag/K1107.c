// Two block sizes: an error with both labelled and a fix-it that removes the second.
#include <kiln/kernel.h>

kernel block(64) block(128) void f(f32 *x)
{
    x[thread_rank()] = 1;
}
