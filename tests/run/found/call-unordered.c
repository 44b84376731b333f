// All calls of a function that calls itself lie in a branch that Kiln keeps and the assembler folds: no number is less than itself. With a second
// kernel in the module the assembler crashes here, and the program with it, unless a function that the kernel reaches reads the table of functions
// (docs/assembler.md). From fuzz-diff, profile call, seed 31000121, by tests/sass.
#include <kiln/kernel.h>

static noinline u32 sum_of(u32 n)
{
    return n * 3 + 1;
}

static u32 sum_to(u32 n)
{
    u32 rest = n < 2 ? n : n + sum_to(n - 1);
    return rest + sum_of(rest);
}

//! run call_unordered grid=1 block=32 (f32[32]:edge, u32[32])
kernel void call_unordered(const f32 *in, u32 *out)
{
    f32 x = in[thread_x()];
    out[thread_x()] = 1;
    if (x < x)
        out[thread_x()] = sum_to(thread_x()) + sum_of(2);
}

//! run call_nothing grid=1 block=32 (u32[32])
kernel void call_nothing(u32 *out)
{
    out[thread_x()] = thread_x();
}
