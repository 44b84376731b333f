// The only call of a function lies in a branch that Kiln keeps and the assembler folds: a bit is never 256. Without the table of functions that Kiln
// writes, the assembler crashes here, and the program with it (docs/assembler.md).
#include <kiln/kernel.h>

static u32 sum_to(u32 n) { return n < 2 ? n : n + sum_to(n - 1); }
static noinline u32 other(u32 n) { return n * 3 + 1; }

//! run call_folded grid=1 block=64 (u32[64]:rand, u32[64])
kernel void call_folded(const u32 *in, u32 *out)
{
    u32 bit = in[thread_x()] & 1;
    out[thread_x()] = other(bit);
    if ((i16)bit == 256)
        out[thread_x()] = sum_to(bit);
}
