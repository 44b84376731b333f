// K6202: A word is read at a byte offset from the data.
#include <kiln/kernel.h>

//! run word grid=1 block=8 (u32[8], u8[64]:iota)
kernel void word(u32 *out, const u8 *bytes)
{
    out[thread_x()] = *(const u32 *)(bytes + 5 * thread_x());
}
