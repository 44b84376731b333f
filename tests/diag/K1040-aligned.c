// An array of a type that is aligned to more than its size.
#include <kiln/kernel.h>

typedef i32 word __attribute__((aligned(16)));

kernel block(1) void f(i32 *out)
{
    word all[4] = {1, 2, 3, 4};
    out[0] = all[1];
}
