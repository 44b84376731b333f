// short and float together: an error under both words.
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    short float a = 1;
    x[0] = 1;
}
