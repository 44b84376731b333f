// GNU's and POSIX's functions that kernels cannot have, by name; and wrong uses of those they have.
#include <setjmp.h>

#include <kiln/kernel.h>

kernel void jumps(i32 *out)
{
    jmp_buf place;
    out[0] = setjmp(place);
    longjmp(place, 1);
}

kernel void others(i32 *out, const i32 *in, f32 x, i32 n)
{
    out[0] = __builtin_return_address(0) != NULL;
    out[1] = *(i32 *)__builtin_alloca(4);
    out[2] = (i32)__builtin_strlen("text");
    out[3] = __sync_fetch_and_add(out, 1);
    out[4] = __builtin_add_overflow(x, 1, out);
    out[5] = __builtin_mul_overflow(1, 2, in);
    out[6] = __builtin_sub_overflow(1, 2);
    out[7] = __builtin_choose_expr(n, 1, 2);
    out[8] = __builtin_constant_p(1, 2);
    out[9] = __builtin_sadd_overflow(1, 2, &x);
    out[10] = __builtin_types_compatible_p(i32, unknown);
}
