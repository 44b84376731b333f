// '##' at the end and at the start of a macro: two errors.
#define A(a) a##
#define B(a) ##a
#include <kiln/kernel.h>

kernel block(64) void f(f32 *x, u32 n)
{
    x[0] = 1;
}
