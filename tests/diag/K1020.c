// A struct with two members of one name that a kernel uses: an error with both members labelled, and the use.
#include <kiln/kernel.h>

struct pair {
    f32 a;
    f32 a;
};

kernel block(64) void f(f32 *x, u32 n)
{
    struct pair v = {1, 2};
    x[0] = v.a;
}
