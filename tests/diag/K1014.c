// An array whose length is a parameter: an error at the length, with a note about the alternatives.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    f32 row[n];
    row[0] = x[0];
    x[1] = row[0];
}
