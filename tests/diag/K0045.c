// __VA_ARGS__ in a macro without dots: an error with a label at its name.
#define LOG(format) printf(format, __VA_ARGS__)
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
