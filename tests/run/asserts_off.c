// NDEBUG above the header turns assert off, in kernels as on the host; C's own headers keep theirs.
#define NDEBUG
#include <stdlib.h>

#include <kiln/kernel.h>

//! run quiet block=32 (i32[32]:rand, i32[32])
kernel void quiet(const i32 *in, i32 *out)
{
    i32 i = (i32)thread_x(), n = 0;
    assert(n++ == 5);
    assert(in[i] == 0 && not_declared(i));
    out[i] = n + atoi("40") + in[i];
}
