// An integer above 64 bits: an error that names the largest one.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    u64 i = 99999999999999999999;
    x[i] = 1;
}
