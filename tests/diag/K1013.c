// A struct with bit-fields that a kernel uses: an error at the first bit-field, with the use labelled.
#include <kiln/kernel.h>

struct flags {
    u32 low : 4;
    u32 high : 28;
};

kernel block(64) void f(f32 *x, u32 n)
{
    struct flags v = {1, 2};
    x[0] = (f32)(v.low + v.high);
}
