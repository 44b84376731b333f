// An array of a struct that is only declared: an error with the declaration labelled.
#include <kiln/kernel.h>

struct later;

kernel block(64) void f(f32 *x, u32 n)
{
    struct later v[2];
    x[0] = 1;
}
