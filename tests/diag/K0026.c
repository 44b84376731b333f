// A #warning: a warning with its text.
#include <kiln/kernel.h>

#warning this file is slow, use fast.c
kernel block(64) void f(f32 *x)
{
    x[0] = 1;
}
