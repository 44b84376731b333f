// K6201: Row and column are exchanged in a matrix that is not square.
#include <kiln/kernel.h>

//! run transpose grid=1 block=8,4 (f32[32], f32[32])
kernel void transpose(f32 *out, const f32 *in)
{
    u32 row = thread_y(), col = thread_x();
    out[col * 8 + row] = in[row * 8 + col];
}
