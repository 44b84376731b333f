// no_wait with an answer, per_warp out of place, host on things that are no functions
#include <kiln/kernel.h>

host no_wait i32 answers(f32 x);
host no_wait void writes(f32 *x);
host i32 number;
host kernel void both(i32 n);

kernel block(32) void run(f32 *x)
{
    answers(x[0]);
    writes(x);
}
